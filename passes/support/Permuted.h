// Ops over operands whose dims come in another order.
#ifndef PASSES_PERMUTED_H
#define PASSES_PERMUTED_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// Can the op work on operands that are all transposed by `permutation`, with no more change than
/// its dims numbered anew?
bool canPermute(mlir::Operation *op, llvm::ArrayRef<int64_t> permutation);

/// Does the result of such an op come transposed, too? What a reduction leaves does not.
bool isMovedResult(mlir::OpResult result);

/// How the result that is not moved has to be transposed to be as it was; empty where it is.
llvm::SmallVector<int64_t> restoredOrder(mlir::OpResult result,
                                         llvm::ArrayRef<int64_t> permutation);

/// Builds the op over `operands`, each transposed by `permutation`. Results that are not moved lack
/// restoredOrder.
mlir::Operation *buildPermuted(mlir::OpBuilder &builder, mlir::Operation *op,
                               mlir::ValueRange operands, llvm::ArrayRef<int64_t> permutation);

/// `dims` of a tensor as the tensor transposed by `permutation` numbers them, in the same order.
llvm::SmallVector<int64_t> permuteDims(llvm::ArrayRef<int64_t> dims,
                                       llvm::ArrayRef<int64_t> permutation);

/// The positions of `numbers` in ascending order of them.
llvm::SmallVector<int64_t> sortedOrder(llvm::ArrayRef<int64_t> numbers);

} // namespace gradc

#endif
