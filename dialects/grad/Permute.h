// Renumbering of an op's dims when its operands are transposed.
#ifndef DIALECTS_GRAD_PERMUTE_H
#define DIALECTS_GRAD_PERMUTE_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// `dims` of a tensor as the tensor transposed by `permutation` numbers them, in the same order.
SmallVector<int64_t> permuteDims(ArrayRef<int64_t> dims, ArrayRef<int64_t> permutation);
int64_t permuteDim(int64_t dim, ArrayRef<int64_t> permutation);

/// The same of a set of dims, which is kept ascending.
SmallVector<int64_t> permuteSet(ArrayRef<int64_t> dims, ArrayRef<int64_t> permutation);

/// Does the permutation leave the first `count` dims where they are?
bool keepsLeading(ArrayRef<int64_t> permutation, int64_t count);

/// `op` over `operands`, each its own transposed by `permutation`, with results transposed alike
/// and the same attributes.
Operation *clonePermuted(OpBuilder &builder, Operation *op, ValueRange operands,
                         ArrayRef<int64_t> permutation);

} // namespace mlir::grad

#endif
