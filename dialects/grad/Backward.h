// Reverse-mode differentiation of straight-line code: gradients flow from results to operands.
#ifndef DIALECTS_GRAD_BACKWARD_H
#define DIALECTS_GRAD_BACKWARD_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// A backward walk from an objective to targets. Contributions are added in the order of the walk,
/// so equal ops give equal gradients.
class Backward {
public:
  /// Adds `gradient` (of `value`'s type) to the gradient of `value`.
  void add(OpBuilder &builder, Value value, Value gradient);

  /// Walks `ops` (given in execution order) backwards and builds at `builder` the ops that compute
  /// the gradients of `targets`. Records ops without a gradient in `getMissing` and continues, so
  /// that all of them are found.
  void run(OpBuilder &builder, ArrayRef<Operation *> ops, ValueRange targets);

  /// The gradient of `value`; null means zero.
  Value lookup(Value value) const { return gradients.lookup(value); }
  ArrayRef<Operation *> getMissing() const { return missing; }

private:
  DenseMap<Value, Value> gradients;
  SmallVector<Operation *> missing;
};

/// On an op: the stage of a pipeline that runs it. The ops that compute its gradient inherit the
/// attribute, and have `backwardName` beside it.
inline constexpr llvm::StringLiteral stageName = "grad.stage", backwardName = "grad.backward";

/// Whether gradients flow through the type of `value`.
bool isDifferentiable(Value value);

/// The ops of `value`'s block that compute it, in execution order.
SmallVector<Operation *> producersOf(Value value);

/// buildGradient for composites without their own formula: decomposes `op` at `builder` and
/// differentiates the primitives.
LogicalResult gradientByDecomposition(Operation *op, OpBuilder &builder, ValueRange resultGradients,
                                      SmallVectorImpl<Value> &operandGradients);

} // namespace mlir::grad

#endif
