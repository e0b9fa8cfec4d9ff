// Ops over all steps of a loop at once: values that change between steps have an additional leading
// dim.
#ifndef DIALECTS_GRAD_CONTROL_OVERSTEPS_H
#define DIALECTS_GRAD_CONTROL_OVERSTEPS_H

#include "dialects/grad/Build.h"
#include "llvm/ADT/SmallBitVector.h"

#include "dialects/grad/OverStepsInterface.h.inc"

namespace mlir::grad {

/// Whether the op has a form over all steps if exactly the operands in `stacked`, of which there is
/// at least one, change between steps.
bool canRunOverSteps(Operation *op, const llvm::SmallBitVector &stacked);

/// Builds that form. Operands in `stacked` and all results are stacks of `steps` steps.
SmallVector<Value> buildOverSteps(OpBuilder &builder, Operation *op, ValueRange operands,
                                  const llvm::SmallBitVector &stacked, int64_t steps);

/// Builds the sum over all steps of a contraction without a window whose operands both change.
Value sumOverSteps(OpBuilder &builder, Operation *op, Value lhs, Value rhs);

} // namespace mlir::grad

#endif
