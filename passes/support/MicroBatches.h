// A step's batch in parts that follow each other, so that memory holds the activations of one.
#ifndef PASSES_MICROBATCHES_H
#define PASSES_MICROBATCHES_H

#include "dialects/grad/Build.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// How `grad.micro_batches` of a training function is said, and what its results mean by it: the
/// loss is the sum over all pairs of such results of numerator / denominator.
inline constexpr llvm::StringLiteral microBatchesName = "grad.micro_batches";
inline constexpr llvm::StringLiteral lossNumeratorRole = "loss_numerator";
inline constexpr llvm::StringLiteral lossDenominatorRole = "loss_denominator";

/// How many micro-batches a step has at most, where another function's has more than this one's:
/// the counters of their random ops must differ, too.
inline constexpr llvm::StringLiteral mostMicroBatchesName = "grad.most_micro_batches";

/// 1 / x, but 0 of 0: where nothing counts there is nothing to learn from.
mlir::grad::Expr inverseOf(mlir::grad::Expr x);

/// Adds to the loss of such a function a value that is the same in every micro-batch.
void addLossTerm(mlir::func::FuncOp function, mlir::Value term);

/// The gradients of `loss`, times `scale` where that is not null.
llvm::SmallVector<mlir::Value> requestGradients(mlir::OpBuilder &builder, mlir::Value loss,
                                                mlir::ValueRange targets, mlir::Value scale);

/// Marks a function whose outermost loops are over the parts of its batch.
inline constexpr llvm::StringLiteral inPartsName = "grad.in_parts";

class DataParallel;

/// Makes a function that was imported for one micro-batch one for as many as `grad.micro_batches`
/// says: arguments that hold rows hold those of all, and the body is a scan over them. Returns the
/// gradients of the loss over all rows, times the function's loss scale, with respect to
/// `parameters`, reads of states. Numbers that are means over rows are means of all micro-batches,
/// states that the body writes pass through all of them, and random numbers differ from one to the
/// next. `ranks`: which share the batch, or null. Each rank has as many rows in every micro-batch,
/// so a row of the entry is one of each; gradients and numbers are the rank's shares.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
accumulateGradients(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> parameters,
                    DataParallel *ranks);

} // namespace gradc

#endif
