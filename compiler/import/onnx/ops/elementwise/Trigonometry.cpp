// ONNX's trigonometric and hyperbolic functions. The formulas keep their accuracy near 0, overflow
// only if the result does, and have the function's gradient everywhere: finite, or infinite at the
// end of its range.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"
#include <numbers>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// A function of one float tensor. 16-bit floats are computed in f32, since each step would round.
template <Expr (*formula)(Expr)> LogicalResult function(Node &n) {
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  Expr x = n.expr(0u);
  if (n.element(0).getIntOrFloatBitWidth() < 32)
    x = x.cast(n.builder().getF32Type());
  return n.set(formula(x).cast(n.element(0)));
}

Expr expm1(Expr x) { return x.apply<Expm1Op>(); }
Expr log1p(Expr x) { return x.apply<Log1pOp>(); }
Expr sqrt(Expr x) { return x.apply<SqrtOp>(); }
Expr atan(Expr x) { return x.apply<AtanOp>(); }

Expr tan(Expr x) { return x.apply<SinOp>() / x.apply<CosOp>(); }
/// For y = asin(x), tan(y / 2) = x / (1 + sqrt(1 - x^2)). The two roots are separate: at -1 and 1
/// the gradient of one is infinite, and that of their product would be infinity times 0.
Expr asin(Expr x) { return atan(x / (1 + sqrt(1 - x) * sqrt(1 + x))) * 2; }
/// For y = acos(x), tan(y / 4) = sqrt(1 - x) / (sqrt(2) + sqrt(1 + x)).
Expr acos(Expr x) { return atan(sqrt(1 - x) / (std::numbers::sqrt2 + sqrt(1 + x))) * 4; }
/// (e^x - 1) / 2 = u (u / 2 + 1) for u = e^(x/2) - 1, which overflows only if the result does.
Expr halfExpm1(Expr x) {
  Expr u = expm1(x * 0.5);
  return u * (u * 0.5 + 1.0);
}
Expr sinh(Expr x) { return halfExpm1(x) - halfExpm1(-x); }
Expr cosh(Expr x) { return halfExpm1(x) + halfExpm1(-x) + 1.0; }
Expr atanh(Expr x) { return (log1p(x) - log1p(-x)) * 0.5; }
/// ln(x + sqrt(x^2 - 1)) for x = 1 + t.
Expr acosh(Expr x) {
  Expr t = x - 1;
  return log1p(t + sqrt(t) * sqrt(t + 2));
}
/// Below 1, uses atanh, which is odd and smooth at 0; from 1 on, uses ln(a + sqrt(1 + a^2)),
/// factored so that a^2 does not overflow.
Expr asinh(Expr x) {
  Builder &b = x.getBuilder();
  Expr inner = x.with(x.getBuilder().createOrFold<ClampOp>(x.getLoc(), x, b.getF64FloatAttr(-1),
                                                           b.getF64FloatAttr(1)));
  Expr near = atanh(inner / sqrt(inner * inner + 1));
  Expr magnitude = x.apply<AbsOp>();
  Expr isNear = magnitude.compare(ComparePredicate::lt, x.splat(1));
  Expr a = isNear.select(x.splat(1), magnitude), inverse = 1 / a;
  Expr far = a.apply<LogOp>() + log1p(sqrt(inverse * inverse + 1));
  return isNear.select(near, far * x.apply<SignOp>());
}
} // namespace

void gradc::addTrigonometryOps(OpTable &ops) {
  ops["Sin"] = {function<[](Expr x) { return x.apply<SinOp>(); }>, 1, 1};
  ops["Cos"] = {function<[](Expr x) { return x.apply<CosOp>(); }>, 1, 1};
  ops["Tan"] = {function<tan>, 1, 1};
  ops["Asin"] = {function<asin>, 1, 1};
  ops["Acos"] = {function<acos>, 1, 1};
  ops["Atan"] = {function<atan>, 1, 1};
  ops["Sinh"] = {function<sinh>, 1, 1};
  ops["Cosh"] = {function<cosh>, 1, 1};
  ops["Asinh"] = {function<asinh>, 1, 1};
  ops["Acosh"] = {function<acosh>, 1, 1};
  ops["Atanh"] = {function<atanh>, 1, 1};
  takeExtents(
      ops, TakesExtents::pointwise,
      {"Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"});
}
