// The parts of a step that are sums over the rows of its batch, and so sums over ranks.
#ifndef PASSES_SUPPORT_ROWSUMS_H
#define PASSES_SUPPORT_ROWSUMS_H

#include "dialects/grad/Grad.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// Checks that `results`, values of a training function's body, depend on the batch row by row, but
/// for sums and means over rows and what is linear in those. Normalization over rows is taken for
/// one row's business. Reports the first op that is otherwise: a rank would compute it of its own
/// rows. Returns what the body requests for each row as the gradient of a mean over rows: of a
/// rank's mean, it is too large by the rows of all ranks / the rank's.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> checkRowSums(mlir::func::FuncOp function,
                                                             mlir::ValueRange results);

} // namespace gradc

#endif
