// Ops over operands with permuted dims.
#ifndef PASSES_GRAPH_PERMUTED_H
#define PASSES_GRAPH_PERMUTED_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// Whether the op can work on operands that are all transposed by `permutation`, with only its dims
/// renumbered.
bool canPermute(mlir::Operation *op, llvm::ArrayRef<int64_t> permutation);

/// Builds such an op over `operands`, each transposed by `permutation`. Results of the same rank
/// are transposed as well; results of lower rank still need a transpose by restoredOrder.
mlir::Operation *buildPermuted(mlir::OpBuilder &builder, mlir::Operation *op,
                               mlir::ValueRange operands, llvm::ArrayRef<int64_t> permutation);

/// The transposition that restores the original order of a result of lower rank; empty if none is
/// needed.
llvm::SmallVector<int64_t> restoredOrder(mlir::OpResult result,
                                         llvm::ArrayRef<int64_t> permutation);

/// The indices that sort `numbers` in ascending order.
llvm::SmallVector<int64_t> sortedOrder(llvm::ArrayRef<int64_t> numbers);

} // namespace gradc

#endif
