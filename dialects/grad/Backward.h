// Reverse-mode differentiation of straight-line code: gradients flow from results to operands.
#ifndef DIALECTS_GRAD_BACKWARD_H
#define DIALECTS_GRAD_BACKWARD_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// One walk from an objective back to targets. Contributions add up in the order of the walk, so
/// equal ops give equal gradients.
class Backward {
public:
  /// `gradient` (of `value`'s type) arrives at `value`.
  void add(OpBuilder &builder, Value value, Value gradient);

  /// Walks `ops` (given in execution order) backwards and builds at `builder` the ops that carry
  /// gradients towards `targets`. An op without a gradient is recorded in `getMissing` and the walk
  /// continues, so that all of them are found.
  void run(OpBuilder &builder, ArrayRef<Operation *> ops, ValueRange targets);

  /// The gradient that has arrived at `value`; null if none has: it is zero then.
  Value lookup(Value value) const { return gradients.lookup(value); }
  ArrayRef<Operation *> getMissing() const { return missing; }

private:
  DenseMap<Value, Value> gradients;
  SmallVector<Operation *> missing;
};

/// Whether gradients flow through the type of `value`.
bool isDifferentiable(Value value);

/// The ops of `value`'s block that compute it, in execution order.
SmallVector<Operation *> producersOf(Value value);

/// buildGradient for composites without a formula of their own: decomposes `op` at `builder` and
/// differentiates the primitives.
LogicalResult gradientByDecomposition(Operation *op, OpBuilder &builder, ValueRange resultGradients,
                                      SmallVectorImpl<Value> &operandGradients);

} // namespace mlir::grad

#endif
