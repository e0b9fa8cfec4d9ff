// Clips by value, by each tensor's norm, or by the norm of all gradients, as PyTorch does.
#include "passes/training/Clipping.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

FailureOr<Clipping> Clipping::parse(Operation *at, Attribute attribute) {
  auto limits = dyn_cast<DictionaryAttr>(attribute);
  for (auto [name, kind] : {std::pair("value", value), {"norm", norm}, {"global_norm", globalNorm}})
    if (auto limit = limits ? limits.getAs<FloatAttr>(name) : FloatAttr();
        limit && limits.size() == 1 && limit.getValueAsDouble() > 0)
      return Clipping{kind, limit.getValueAsDouble()};
  return at->emitError("expected grad.clip with one positive float, `value`, `norm` or "
                       "`global_norm`, found ")
         << attribute;
}

/// min(1, limit / (norm + 1e-6)), as PyTorch's clip_grad_norm_.
static Expr scaleOf(Expr norm, double limit) {
  return (limit / (norm + 1e-6)).apply<MinOp>(norm.splat(1));
}

Value Clipping::build(Expr like, MutableArrayRef<Value> gradients,
                      llvm::function_ref<bool(size_t)> isPart,
                      llvm::function_ref<Value(Value)> sum) const {
  Value total, parts; // of squares
  for (auto [i, gradient] : llvm::enumerate(gradients)) {
    // A scale would round small gradients of f16 to 0.
    Expr g = Expr(like.getBuilder(), gradient.getLoc(), gradient).wide();
    gradient = g;
    Expr squares = sumOfSquares(g.cast(like.element()));
    bool isSummedLater = isPart(i) && kind != norm;
    if (isPart(i) && !isSummedLater)
      squares = like.with(sum(squares));
    Value &all = isSummedLater ? parts : total;
    all = all ? like.with(all) + squares : squares;
    if (kind == norm) {
      Expr scale = scaleOf(squares.apply<SqrtOp>(), limit);
      gradient = g * scale.cast(g.element()).broadcastScalar(g.type());
    } else if (kind == value) {
      gradient = g.apply<MaxOp>(g.splat(-limit)).apply<MinOp>(g.splat(limit));
    }
  }
  if (parts)
    total = total ? like.with(total) + like.with(sum(parts)) : Expr(like.with(sum(parts)));
  Expr all = total ? like.with(total).apply<SqrtOp>() : like.splat(0);
  if (kind == globalNorm) {
    Expr scale = scaleOf(all, limit);
    for (Value &gradient : gradients) {
      Expr g(like.getBuilder(), gradient.getLoc(), gradient);
      gradient = g * scale.cast(g.element()).broadcastScalar(g.type());
    }
  }
  return all;
}
