// Runs a step's batch in consecutive micro-batches, so that memory holds the activations of one.
#ifndef PASSES_DISTRIBUTION_MICROBATCHES_H
#define PASSES_DISTRIBUTION_MICROBATCHES_H

#include "dialects/grad/Build.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// The roles of the results of a training function with micro-batches: the loss is the sum of
/// numerator / denominator over all pairs of such results.
inline constexpr llvm::StringLiteral lossNumeratorRole = "loss_numerator";
inline constexpr llvm::StringLiteral lossDenominatorRole = "loss_denominator";

/// 1 / x, but 0 for x = 0: a batch in which nothing counts contributes nothing.
mlir::grad::Expr inverseOf(mlir::grad::Expr x);

/// Adds to the loss of such a function a value that is the same in every micro-batch.
void addLossTerm(mlir::func::FuncOp function, mlir::Value term);

/// The gradients of `loss`, times `scale` where that is not null.
llvm::SmallVector<mlir::Value> requestGradients(mlir::OpBuilder &builder, mlir::Value loss,
                                                mlir::ValueRange targets, mlir::Value scale);

class DataParallel;

/// Reads of tables by rows: what they read, and at which indices.
struct RowsRead {
  llvm::SmallVector<mlir::Value> values, rows;
};

/// Turns a function that was imported for one micro-batch into one for `grad.micro_batches` of
/// them: arguments that hold rows hold the rows of all micro-batches, and the body becomes a scan.
/// Returns the gradients of the loss over all rows, times the function's loss scale, with respect
/// to `parameters`, which are reads of states. Means over rows become means over all micro-batches,
/// states that the body writes are carried through the scan, and random numbers differ between
/// micro-batches. `ranks`: the ranks that share the batch, or null. A rank has equally many rows in
/// every micro-batch, so one row of the entry is one row of each; results are the rank's shares.
/// `reads`: reads in the body; on return the gradients of what was read and the indices, in all
/// micro-batches, with one more dim in front.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
accumulateGradients(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> parameters,
                    RowsRead &reads, DataParallel *ranks);

} // namespace gradc

#endif
