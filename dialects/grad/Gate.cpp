// Activations that are a value times a gate of its own, and roundings that a gradient passes.
#include "dialects/grad/Gate.h"
#include "dialects/grad/Backward.h"
#include "dialects/grad/Pointwise.h"
#include <cmath>

using namespace mlir;
using namespace mlir::grad;

#define GET_OP_CLASSES
#include "dialects/grad/GradGateOps.cpp.inc"

// Swish -------------------------------------------------------------------------------------------

void SwishOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double slope = getSlope().convertToDouble();
  for (int64_t i = 0; i < results[0].size(); ++i) {
    double x = operands[0].getFloat(i);
    results[0].setFloat(i, x * SigmoidOp::evaluateScalar(slope * x));
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

// Straight through --------------------------------------------------------------------------------

void StraightThroughOp::evaluate(ArrayRef<HostTensor> operands,
                                 MutableArrayRef<HostTensor> results) {
  results[0] = operands[1];
}

SmallVector<Value> StraightThroughOp::decompose(OpBuilder &) { return {getValue()}; }

LogicalResult StraightThroughOp::buildGradient(OpBuilder &, ValueRange resultGradients,
                                               SmallVectorImpl<Value> &operandGradients) {
  operandGradients[0] = resultGradients[0];
  return success();
}
