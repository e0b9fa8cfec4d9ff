// Ops over all steps of a loop at once: what changes from step to step has a dim in front.
#ifndef DIALECTS_GRAD_OVERSTEPS_H
#define DIALECTS_GRAD_OVERSTEPS_H

#include "dialects/grad/Build.h"
#include "llvm/ADT/SmallBitVector.h"

#include "dialects/grad/OverStepsInterface.h.inc"

namespace mlir::grad {

/// Gives the ops of the dialect their implementations of OverStepsOpInterface.
void attachOverSteps(MLIRContext *context);

/// Whether the op has a form over all steps if the operands in `stacked` change from step to step
/// and the others do not. At least one does.
bool canRunOverSteps(Operation *op, const llvm::SmallBitVector &stacked);

/// Builds that form. Operands in `stacked` and all results are stacks of `steps` steps.
SmallVector<Value> buildOverSteps(OpBuilder &builder, Operation *op, ValueRange operands,
                                  const llvm::SmallBitVector &stacked, int64_t steps);

/// Builds the sum of all steps of a contraction without a window, both of whose operands change.
Value sumOverSteps(OpBuilder &builder, Operation *op, Value lhs, Value rhs);

} // namespace mlir::grad

#endif
