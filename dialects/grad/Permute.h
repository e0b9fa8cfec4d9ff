// Renumbering of an op's dims when its operands are transposed.
#ifndef DIALECTS_GRAD_PERMUTE_H
#define DIALECTS_GRAD_PERMUTE_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// `dims` of a tensor as the tensor transposed by `permutation` numbers them, in the same order.
SmallVector<int64_t> permuteDims(ArrayRef<int64_t> dims, ArrayRef<int64_t> permutation);
int64_t permuteDim(int64_t dim, ArrayRef<int64_t> permutation);

/// The same for a set of dims, which is kept ascending.
SmallVector<int64_t> permuteSet(ArrayRef<int64_t> dims, ArrayRef<int64_t> permutation);

/// Whether the permutation keeps the first `count` dims in place.
bool keepsLeading(ArrayRef<int64_t> permutation, int64_t count);

/// `op` with the same attributes over `operands`, its own operands transposed by `permutation`,
/// with its results transposed likewise.
Operation *clonePermuted(OpBuilder &builder, Operation *op, ValueRange operands,
                         ArrayRef<int64_t> permutation);

} // namespace mlir::grad

#endif
