// Activation functions, written so that no intermediate overflows if the result does not.
#include "dialects/grad/Backward.h"
#include "dialects/grad/Pointwise.h"
#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mlir::grad;

// sqrt(2 / pi) and the cubic coefficient of GELU's tanh form.
static constexpr double geluScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
static constexpr double geluCubic = 0.044715;
// From here on GELU's tanh is 1 in every type, and its slope 0. The square in that slope's other
// factor is limited to it, since an overflow times 0 would be NaN.
static constexpr double geluEnd = 10;

double TanhOp::evaluateScalar(double x) { return std::tanh(x); }
Scalar TanhOp::lowerScalar(Scalar x) { return x.apply<math::TanhOp>(); }
Value TanhOp::backward(Expr, Expr y, Expr dy) { return dy * (1 - y * y); }

static double sigmoid(double x) {
  double e = std::exp(-std::fabs(x));
  return (x >= 0 ? 1 : e) / (1 + e);
}
double SigmoidOp::evaluateScalar(double x) { return sigmoid(x); }
Scalar SigmoidOp::lowerScalar(Scalar x) {
  Scalar e = (-x.apply<math::AbsFOp>()).apply<math::ExpOp>();
  return (x < x.number(0)).select(e, x.number(1)) / (e + 1);
}
Value SigmoidOp::backward(Expr, Expr y, Expr dy) { return dy * y * (1 - y); }

double ReluOp::evaluateScalar(double x) { return x < 0 ? 0 : x; }
int64_t ReluOp::evaluateScalar(int64_t x, bool isUnsigned) { return !isUnsigned && x < 0 ? 0 : x; }
Scalar ReluOp::lowerScalar(Scalar x) {
  // The constant first: NaN passes, and a float vector needs one max instruction.
  Scalar zero = x.number(0);
  return x.isUnsigned() ? x : (zero > x).select(zero, x);
}
Value ReluOp::backward(Expr, Expr y, Expr dy) {
  // Uses the result, so that the operand need not be saved.
  return y.compare(ComparePredicate::gt, y.splat(0)).select(dy, dy.splat(0));
}

// GELU --------------------------------------------------------------------------------------------

void GeluOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  if (getApproximate())
    return evaluateUnary(operands, results, [](double x) {
      return x / 2 * (1 + std::tanh(geluScale * (x + geluCubic * x * x * x)));
    });
  evaluateUnary(operands, results,
                [](double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); });
}

SmallVector<Value> GeluOp::decompose(OpBuilder &builder) {
  Expr x(builder, getLoc(), getOperand());
  if (getApproximate())
    return {x * 0.5 * (1 + (geluScale * (x + geluCubic * (x * x * x))).apply<TanhOp>())};
  return {x * 0.5 * (1 + (x * (1 / std::numbers::sqrt2)).apply<ErfOp>())};
}

LogicalResult GeluOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  operandGradients[0] = builder.createOrFold<GeluGradOp>(getLoc(), getOperand(), resultGradients[0],
                                                         getApproximate());
  return success();
}

void GeluGradOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  auto slope = getApproximate() ? [](double x) {
    double t = std::tanh(geluScale * (x + geluCubic * x * x * x));
    double limited = std::clamp(x, -geluEnd, geluEnd);
    double inner = geluScale * (1 + 3 * geluCubic * limited * limited);
    return (1 + t) / 2 + x / 2 * (1 - t * t) * inner;
  } : [](double x) {
    double density = std::numbers::inv_sqrtpi / std::numbers::sqrt2 * std::exp(-x * x / 2);
    return (1 + std::erf(x / std::numbers::sqrt2)) / 2 + x * density;
  };
  for (int64_t i = 0; i < results[0].size(); ++i)
    results[0].setFloat(i, slope(operands[0].getFloat(i)) * operands[1].getFloat(i));
}

SmallVector<Value> GeluGradOp::decompose(OpBuilder &builder) {
  Expr x(builder, getLoc(), getOperand());
  Expr dy = x.with(getGradient());
  if (getApproximate()) {
    Expr t = (geluScale * (x + geluCubic * (x * x * x))).apply<TanhOp>();
    Expr limited =
        x.with(builder.createOrFold<ClampOp>(getLoc(), x, APFloat(-geluEnd), APFloat(geluEnd)));
    Expr inner = geluScale * (1 + 3 * geluCubic * (limited * limited));
    return {dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner)};
  }
  Expr cumulative = 0.5 * (1 + (x * (1 / std::numbers::sqrt2)).apply<ErfOp>());
  Expr density = std::numbers::inv_sqrtpi / std::numbers::sqrt2 * (-0.5 * (x * x)).apply<ExpOp>();
  return {dy * (cumulative + x * density)};
}

/// The second derivative of GELU's tanh form. From geluEnd on its first factor is 0, so the others
/// take x limited to that: the powers of x could overflow, and infinity times 0 would be NaN.
static Expr geluBend(Expr x) {
  Expr limited = x.with(
      x.getBuilder().createOrFold<ClampOp>(x.getLoc(), x, APFloat(-geluEnd), APFloat(geluEnd)));
  Expr square = limited * limited;
  Expr t = (geluScale * (limited + geluCubic * (square * limited))).apply<TanhOp>();
  Expr inner = geluScale * (1 + 3 * geluCubic * square);
  return (1 - t * t) *
         (inner + limited * (3 * geluScale * geluCubic * limited - t * (inner * inner)));
}

LogicalResult GeluGradOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                        SmallVectorImpl<Value> &operandGradients) {
  if (!getApproximate())
    return gradientByDecomposition(*this, builder, resultGradients, operandGradients);
  Expr x(builder, getLoc(), getOperand());
  // The bend comes first: the product of both gradients could overflow where the bend is 0.
  operandGradients[0] = geluBend(x) * x.with(getGradient()) * x.with(resultGradients[0]);
  operandGradients[1] =
      builder.createOrFold<GeluGradOp>(getLoc(), x, resultGradients[0], getApproximate());
  return success();
}

// SiLU --------------------------------------------------------------------------------------------

void SiluOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  evaluateUnary(operands, results, [](double x) { return x * sigmoid(x); });
}

SmallVector<Value> SiluOp::decompose(OpBuilder &builder) {
  Expr x(builder, getLoc(), getOperand());
  return {x * x.apply<SigmoidOp>()};
}

LogicalResult SiluOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  Expr x(builder, getLoc(), getOperand());
  Expr s = x.apply<SigmoidOp>();
  operandGradients[0] = x.with(resultGradients[0]) * s * (1 + x * (1 - s));
  return success();
}

// Swish -------------------------------------------------------------------------------------------

void SwishOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double slope = getSlope().convertToDouble();
  for (int64_t i = 0; i < results[0].size(); ++i) {
    double x = operands[0].getFloat(i);
    results[0].setFloat(i, x * sigmoid(slope * x));
  }
}

SmallVector<Value> SwishOp::decompose(OpBuilder &builder) {
  Expr x(builder, getLoc(), getOperand());
  return {x * (x * getSlope().convertToDouble()).apply<SigmoidOp>()};
}

LogicalResult SwishOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                     SmallVectorImpl<Value> &operandGradients) {
  Expr x(builder, getLoc(), getOperand());
  Expr inner = x * getSlope().convertToDouble(), s = inner.apply<SigmoidOp>();
  operandGradients[0] = x.with(resultGradients[0]) * s * (1 + inner * (1 - s));
  return success();
}

// Mish --------------------------------------------------------------------------------------------

void MishOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  evaluateUnary(operands, results, [](double x) {
    return x * std::tanh(std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))));
  });
}

namespace {
/// p = e^-max(x, 0) and q = e^min(x, 0), of which neither overflows: e^x = q / p. `maximum` and
/// `minimum` split their gradients at 0, so derivatives are correct at 0 as well.
struct MishParts {
  Expr p, q;
  explicit MishParts(Expr x)
      : p((-x.apply<MaxOp>(x.splat(0))).apply<ExpOp>()),
        q(x.apply<MinOp>(x.splat(0)).apply<ExpOp>()) {}

  /// tanh(ln(1 + e^x)) = ((p + q)^2 - p^2) / ((p + q)^2 + p^2).
  Expr tanh() const {
    Expr n = q * (q + 2 * p);
    return n / (n + 2 * (p * p));
  }
  Expr sigmoid() const { return q / (p + q); }
};
} // namespace

SmallVector<Value> MishOp::decompose(OpBuilder &builder) {
  Expr x(builder, getLoc(), getOperand());
  return {x * MishParts(x).tanh()};
}

LogicalResult MishOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  Expr x(builder, getLoc(), getOperand());
  MishParts parts(x);
  Expr t = parts.tanh();
  operandGradients[0] = x.with(resultGradients[0]) * (t + x * parts.sigmoid() * (1 - t * t));
  return success();
}
