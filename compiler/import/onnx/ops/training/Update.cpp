// The update rules of ai.onnx.preview.training, as ops on parameters, gradients, and states.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// One parameter with its gradient and states, and the scalars that all parameters share.
struct Update {
  Expr parameter, gradient;
  SmallVector<Expr> states;
  Expr rate, count;
};
/// The new parameter, then the new states.
using Rule = SmallVector<Expr> (*)(Node &, const Update &);

/// Operands are the rate, the count of updates, all parameters, all gradients, and all values of
/// each state; results are all parameters and all values of each state.
template <Rule rule, unsigned states> LogicalResult update(Node &n) {
  unsigned groups = 2 + states, count = (n.operandCount() - 2) / groups;
  if (failed(n.expect(0, Kind::Float)) || failed(n.expect(1, Kind::Int)))
    return failure();
  if (count * groups + 2 != n.operandCount() || n.type(0).getNumElements() != 1 ||
      n.type(1).getNumElements() != 1)
    return n.error() << "expected a rate, a count and " << groups << " tensors a parameter, found "
                     << n.operandCount() << " operands";
  for (unsigned i = 0; i < count; ++i) {
    unsigned first = 2 + i;
    for (unsigned k = 0; k < groups; ++k) {
      unsigned operand = first + k * count;
      if (!n.operand(operand))
        return n.error() << "operand " << operand << " is missing";
      if (failed(n.expect(operand, Kind::Float)))
        return failure();
      if (n.type(operand) != n.type(first))
        return n.error() << "expected operands of one type, found " << n.describeOperand(first)
                         << " and " << n.describeOperand(operand);
    }
    RankedTensorType type = n.type(first);
    auto scalar = [&](unsigned k) {
      return n.expr(k).cast(type.getElementType()).reshape({}).broadcastScalar(type);
    };
    Expr x = n.expr(first);
    Expr gradient = n.expr(first + count) + x * n.real("norm_coefficient", 0);
    Update one{x, gradient, {}, scalar(0), scalar(1)};
    for (unsigned k = 0; k < states; ++k)
      one.states.push_back(n.expr(first + (2 + k) * count));
    for (auto [k, value] : llvm::enumerate(rule(n, one)))
      (void)n.set(i + k * count, value);
  }
  return success();
}

/// Whether this is not the first update.
Expr isLater(const Update &u) { return u.count.compare(ComparePredicate::gt, u.count.splat(0)); }

SmallVector<Expr> adagrad(Node &n, const Update &u) {
  double decay = n.real("decay_factor", 0), epsilon = n.real("epsilon", 1e-6);
  Expr rate = u.rate / (u.count * decay + 1), sum = u.states[0] + u.gradient * u.gradient;
  return {u.parameter - rate * u.gradient / (sum.apply<SqrtOp>() + epsilon), sum};
}

SmallVector<Expr> momentum(Node &n, const Update &u) {
  double alpha = n.real("alpha", 0), beta = n.real("beta", 0);
  bool nesterov = n.string("mode", "standard") == "nesterov";
  Expr weight = isLater(u).select(u.rate.splat(beta), u.rate.splat(1));
  Expr velocity = u.states[0] * alpha + weight * u.gradient;
  Expr step = nesterov ? u.gradient + velocity * alpha : velocity;
  return {u.parameter - u.rate * step, velocity};
}

SmallVector<Expr> adam(Node &n, const Update &u) {
  double alpha = n.real("alpha", 0.9f), beta = n.real("beta", 0.999f);
  double epsilon = n.real("epsilon", 1e-6), after = n.real("norm_coefficient_post", 0);
  Expr first = u.states[0] * alpha + u.gradient * (1 - alpha);
  Expr second = u.states[1] * beta + u.gradient * u.gradient * (1 - beta);
  // At count 0, both corrections are 0; the rate stays unchanged.
  Expr count = isLater(u).select(u.count, u.count.splat(1));
  auto correction = [&](double factor) { return 1 - count.splat(factor).apply<PowOp>(count); };
  Expr corrected = u.rate * correction(beta).apply<SqrtOp>() / correction(alpha);
  Expr rate = isLater(u).select(corrected, u.rate);
  Expr moved = u.parameter - rate * first / (second.apply<SqrtOp>() + epsilon);
  return {moved * (1 - after), first, second};
}
} // namespace

void gradc::addUpdateOps(OpTable &ops) {
  ops["ai.onnx.preview.training::Adagrad"] = {update<adagrad, 1>, 5, OnnxOp::any};
  ops["ai.onnx.preview.training::Momentum"] = {update<momentum, 1>, 5, OnnxOp::any};
  ops["ai.onnx.preview.training::Adam"] = {update<adam, 2>, 6, OnnxOp::any};
}
