// The parts of a step that are sums over the rows of its batch, and therefore sums over ranks.
#ifndef PASSES_DISTRIBUTION_ROWSUMS_H
#define PASSES_DISTRIBUTION_ROWSUMS_H

#include "dialects/grad/Grad.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

struct RowSumsFound {
  /// The gradients per row that the body requests of a mean over rows: of a rank's mean, they are
  /// too large by a factor of all ranks' rows / the rank's rows.
  llvm::SmallVector<mlir::Value> gradientsOfMeans;
  /// The terms that are sums over rows: the whole batch's is the sum of those of the ranks. Others
  /// are means over rows, or the same for all rows.
  llvm::DenseSet<mlir::Value> sums;
};

/// Checks that `terms` of the loss and `others`, values of a training function's body, depend on
/// the batch row by row, except for sums and means over rows and linear functions of those.
/// Normalization over rows, and their range if no gradient flows through it, count as operations on
/// one row. Reports the first op that violates this, because a rank would compute it from its own
/// rows only; and an op that adds something else to a sum over rows of a term, because ranks share
/// the two in different ways.
llvm::FailureOr<RowSumsFound> checkRowSums(mlir::func::FuncOp function, mlir::ValueRange terms,
                                           mlir::ValueRange others);

} // namespace gradc

#endif
