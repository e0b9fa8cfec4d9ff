// ONNX's activation functions. The formulas avoid branches whose derivative overflows where they
// are not taken: infinity times a gradient of zero is NaN.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/elementwise/Activation.h"
#include "dialects/grad/Build.h"
#include <cmath>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// Where an activation has two slopes at 0, PyTorch's is that of the negative side.
Expr isPositive(Expr x) { return x.compare(ComparePredicate::gt, x.splat(0)); }
Expr sigmoid(Expr x) { return x.apply<SigmoidOp>(); }
Expr clamp(Expr x, double low, double high) {
  Builder &b = x.getBuilder();
  return x.with(x.getBuilder().createOrFold<ClampOp>(x.getLoc(), x, b.getF64FloatAttr(low),
                                                     b.getF64FloatAttr(high)));
}
constexpr double infinity = std::numeric_limits<double>::infinity();
/// e^x - 1 for x <= 0. Larger x are limited, but not to 0: the gradient of `clamp` ends at a limit.
Expr negativeExpm1(Expr x) { return clamp(x, -infinity, 1).apply<Expm1Op>(); }
/// ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|). At 0 both parts are those of the negative side, so
/// that all derivatives are correct there. The gradient of `clamp` reads x, so that it can compute
/// the rest again; that of `relu` would read its result.
Expr softplus(Expr x) {
  Expr exponent = isPositive(x).select(-x, x);
  return clamp(x, 0, infinity) + exponent.apply<ExpOp>().apply<Log1pOp>();
}

/// A function of one float tensor and the node's attributes.
template <Expr (*formula)(Node &, Expr)> LogicalResult activation(Node &n) {
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  return n.set(formula(n, n.expr(0u)));
}

Expr importSigmoid(Node &, Expr x) { return sigmoid(x); }
Expr leakyRelu(Expr x, Expr slope) { return isPositive(x).select(x, x * slope); }
Expr leakyRelu(Expr x, double alpha) { return leakyRelu(x, x.splat(alpha)); }
Expr importLeakyRelu(Node &n, Expr x) { return leakyRelu(x, n.real("alpha", 0.01f)); }
Expr elu(Expr x, double alpha) { return isPositive(x).select(x, negativeExpm1(x) * alpha); }
Expr importElu(Node &n, Expr x) { return elu(x, n.real("alpha", 1)); }
constexpr double seluAlpha = 1.67326319217681884765625f, seluGamma = 1.05070102214813232421875f;
Expr selu(Expr x, double alpha, double gamma) { return elu(x, alpha) * gamma; }
Expr importSelu(Node &n, Expr x) {
  return selu(x, n.real("alpha", seluAlpha), n.real("gamma", seluGamma));
}
Expr celu(Expr x, double alpha) {
  // Limited before the division, after which x is positive if alpha is negative.
  Expr negative = clamp(x, -infinity, std::abs(alpha)) / alpha;
  return isPositive(x).select(x, negative.apply<Expm1Op>() * alpha);
}
Expr importCelu(Node &n, Expr x) { return celu(x, n.real("alpha", 1)); }
Expr thresholdedRelu(Expr x, double alpha) {
  return x.compare(ComparePredicate::gt, x.splat(alpha)).select(x, x.splat(0));
}
Expr importThresholdedRelu(Node &n, Expr x) { return thresholdedRelu(x, n.real("alpha", 1)); }
Expr hardSigmoid(Expr x, double alpha, double beta) { return clamp(x * alpha + beta, 0, 1); }
Expr importHardSigmoid(Node &n, Expr x) {
  return hardSigmoid(x, n.real("alpha", 0.2f), n.real("beta", 0.5f));
}
Expr hardSwish(Expr x) { return x * clamp(x / 6.0 + 0.5, 0, 1); }
Expr importHardSwish(Node &, Expr x) { return hardSwish(x); }
Expr mish(Node &, Expr x) { return x.apply<MishOp>(); }
Expr importSoftplus(Node &, Expr x) { return softplus(x); }
Expr softsign(Expr x) { return x / (x.apply<AbsOp>() + 1.0); }
Expr importSoftsign(Node &, Expr x) { return softsign(x); }
Expr swish(Node &n, Expr x) {
  double slope = n.real("alpha", 1);
  FloatAttr other = n.builder().getF64FloatAttr(slope);
  return slope == 1 ? x.apply<SiluOp>()
                    : x.with(n.builder().createOrFold<SwishOp>(n.loc(), x.get(), other));
}

/// x sigmoid(alpha x).
Expr quickGelu(Node &n, Expr x) {
  FloatAttr slope = n.builder().getF64FloatAttr(n.real("alpha", 1.702f));
  return x.with(n.builder().createOrFold<SwishOp>(n.loc(), x.get(), slope));
}

/// Of operand 0 plus a bias along its last dim, which may be missing.
template <bool isTanh> LogicalResult importBiasGelu(Node &n) {
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  Expr x = n.expr(0u);
  if (n.operand(1)) {
    if (failed(n.expectSameElement(0, 1)))
      return failure();
    if (n.rank(0) < 1 || n.rank(1) != 1 || n.shape(1)[0] != n.shape(0).back())
      return n.error() << "expected a bias along the last dim of " << n.describeOperand(0)
                       << ", found " << n.describeOperand(1);
    x = x + n.expr(n.broadcast(n.operand(1), n.shape(0)));
  }
  UnitAttr tanh = isTanh ? n.builder().getUnitAttr() : UnitAttr();
  return n.set(n.builder().createOrFold<GeluOp>(n.loc(), x.get(), tanh));
}

/// 0 between -lambd and lambd; other values are moved toward 0 by `bias`.
LogicalResult importShrink(Node &n) {
  double bias = n.real("bias", 0), limit = n.real("lambd", 0.5);
  if (failed(n.expect(0, Kind::Number)))
    return failure();
  Expr x = n.expr(0u);
  if (!isa<FloatType>(n.element(0)))
    x = x.cast(n.builder().getF64Type());
  Expr below = x.compare(ComparePredicate::lt, x.splat(-limit));
  Expr above = x.compare(ComparePredicate::gt, x.splat(limit));
  Expr y = below.select(x + bias, above.select(x - bias, x.splat(0)));
  return n.set(y.cast(n.element(0)));
}

/// swish(a) * b.
LogicalResult importSwiGlu(Node &n) {
  if (failed(n.expect(0, Kind::Float)) || failed(n.expectSameElement(0, 1)))
    return failure();
  if (n.shape(0) != n.shape(1))
    return n.error() << "expected operands of one shape, found " << n.describeOperand(0) << " and "
                     << n.describeOperand(1);
  return n.set(swish(n, n.expr(0u)) * n.expr(1u));
}

LogicalResult importRelu(Node &n) {
  if (failed(n.expect(0, Kind::Number)))
    return failure();
  return n.set(n.expr(0u).apply<ReluOp>());
}

LogicalResult importPRelu(Node &n) {
  if (failed(n.expect(0, Kind::Number)) || failed(n.expectSameElement(0, 1)))
    return failure();
  Value given = n.operand(1);
  // In opset 6, a slope per channel needs no trailing dims of size 1.
  if (n.opset() < 7 && n.rank(1) == 1 && n.rank(0) > 1 && n.shape(1)[0] == n.shape(0)[1])
    given = n.expr(1).broadcast(n.type(0), {1});
  auto common = broadcastShape(n.shape(0), n.expr(given).shape());
  if (!common || *common != n.shape(0))
    return n.error() << "expected a slope that broadcasts to " << n.describeOperand(0) << ", found "
                     << n.describeOperand(1);
  Expr x = n.expr(0u), slope = n.expr(n.broadcast(given, n.shape(0)));
  return n.set(leakyRelu(x, slope));
}

LogicalResult importGelu(Node &n) {
  StringRef approximate = n.string("approximate", "none");
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  if (approximate != "none" && approximate != "tanh")
    return n.error() << "expected approximate = \"none\" or \"tanh\", found \"" << approximate
                     << "\"";
  UnitAttr tanh = approximate == "tanh" ? n.builder().getUnitAttr() : UnitAttr();
  return n.set(n.builder().createOrFold<GeluOp>(n.loc(), n.operand(0), tanh));
}
} // namespace

std::optional<NamedActivation> gradc::findRecurrentActivation(StringRef name) {
  using Function = Expr (*)(Expr, double, double);
  struct Row {
    StringRef name;
    unsigned parameterCount;
    double alpha, beta;
    Function function;
  };
  static const Row rows[] = {
      {"Relu", 0, 0, 0, [](Expr x, double, double) { return x.apply<ReluOp>(); }},
      {"Tanh", 0, 0, 0, [](Expr x, double, double) { return x.apply<TanhOp>(); }},
      {"Sigmoid", 0, 0, 0, [](Expr x, double, double) { return sigmoid(x); }},
      {"Affine", 2, 1, 0, [](Expr x, double alpha, double beta) { return x * alpha + beta; }},
      {"LeakyRelu", 1, 0.01, 0, [](Expr x, double alpha, double) { return leakyRelu(x, alpha); }},
      {"ThresholdedRelu", 1, 1, 0,
       [](Expr x, double alpha, double) { return thresholdedRelu(x, alpha); }},
      {"ScaledTanh", 2, 1, 1,
       [](Expr x, double alpha, double beta) { return (x * beta).apply<TanhOp>() * alpha; }},
      {"HardSigmoid", 2, 0.2, 0.5, hardSigmoid},
      {"Elu", 1, 1, 0, [](Expr x, double alpha, double) { return elu(x, alpha); }},
      {"Softsign", 0, 0, 0, [](Expr x, double, double) { return softsign(x); }},
      {"Softplus", 0, 0, 0, [](Expr x, double, double) { return softplus(x); }}};
  for (const Row &row : rows)
    if (name.equals_insensitive(row.name))
      return NamedActivation{row.function, row.parameterCount, row.alpha, row.beta};
  return std::nullopt;
}

std::optional<NamedActivation> gradc::findFusedActivation(StringRef name) {
  if (name == "Clip")
    return NamedActivation{clamp, 2, -infinity, infinity};
  if (name == "Celu")
    return NamedActivation{[](Expr x, double alpha, double) { return celu(x, alpha); }, 1, 1, 0};
  if (name == "Selu")
    return NamedActivation{selu, 2, seluAlpha, seluGamma};
  if (name == "HardSwish")
    return NamedActivation{[](Expr x, double, double) { return hardSwish(x); }, 0, 0, 0};
  return findRecurrentActivation(name);
}

void gradc::addActivationOps(OpTable &ops) {
  ops["Relu"] = {importRelu, 1, 1};
  ops["Sigmoid"] = {activation<importSigmoid>, 1, 1};
  ops["LeakyRelu"] = {activation<importLeakyRelu>, 1, 1};
  ops["PRelu"] = {importPRelu, 2, 2};
  ops["Elu"] = {activation<importElu>, 1, 1};
  ops["Selu"] = {activation<importSelu>, 1, 1};
  ops["Celu"] = {activation<importCelu>, 1, 1};
  ops["ThresholdedRelu"] = {activation<importThresholdedRelu>, 1, 1};
  ops["HardSigmoid"] = {activation<importHardSigmoid>, 1, 1};
  ops["HardSwish"] = {activation<importHardSwish>, 1, 1};
  ops["Mish"] = {activation<mish>, 1, 1};
  ops["Softplus"] = {activation<importSoftplus>, 1, 1};
  ops["Softsign"] = {activation<importSoftsign>, 1, 1};
  ops["Swish"] = {activation<swish>, 1, 1};
  ops["SwiGLU"] = {importSwiGlu, 2, 2};
  ops["Shrink"] = {importShrink, 1, 1};
  ops["Gelu"] = {importGelu, 1, 1};
  ops["com.microsoft::Gelu"] = {importBiasGelu<false>, 1, 1};
  ops["com.microsoft::BiasGelu"] = {importBiasGelu<false>, 2, 2};
  ops["com.microsoft::FastGelu"] = {importBiasGelu<true>, 1, 2};
  ops["com.microsoft::QuickGelu"] = {activation<quickGelu>, 1, 1};
  takeExtents(ops, TakesExtents::pointwise,
              {"Relu", "Sigmoid", "LeakyRelu", "PRelu", "Elu", "Selu", "Celu", "ThresholdedRelu",
               "HardSigmoid", "HardSwish", "Mish", "Softplus", "Softsign", "Swish", "SwiGLU",
               "Shrink", "Gelu"});
}
