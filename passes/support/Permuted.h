// Ops over operands whose dims come in another order.
#ifndef PASSES_PERMUTED_H
#define PASSES_PERMUTED_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// Can the op work on operands that are all transposed by `permutation`, with no more change than
/// its dims numbered anew?
bool canPermute(mlir::Operation *op, llvm::ArrayRef<int64_t> permutation);

/// Builds such an op over `operands`, each transposed by `permutation`. Results of their rank come
/// transposed, too; those of a lower rank lack restoredOrder.
mlir::Operation *buildPermuted(mlir::OpBuilder &builder, mlir::Operation *op,
                               mlir::ValueRange operands, llvm::ArrayRef<int64_t> permutation);

/// How a result of a lower rank has to be transposed to be as it was; empty where it is.
llvm::SmallVector<int64_t> restoredOrder(mlir::OpResult result,
                                         llvm::ArrayRef<int64_t> permutation);

/// The positions of `numbers` in ascending order of them.
llvm::SmallVector<int64_t> sortedOrder(llvm::ArrayRef<int64_t> numbers);

} // namespace gradc

#endif
