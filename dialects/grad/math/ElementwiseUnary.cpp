// Elementwise ops of one operand: each op as a number, as a loop body, and its gradient.
#include "dialects/grad/Pointwise.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mlir::grad;

// Sign and rounding -------------------------------------------------------------------------------

double NegOp::evaluateScalar(double x) { return -x; }
int64_t NegOp::evaluateScalar(int64_t x, bool) { return int64_t(0 - uint64_t(x)); }
Scalar NegOp::lowerScalar(Scalar x) { return -x; }
Value NegOp::backward(Expr, Expr, Expr dy) { return -dy; }

double AbsOp::evaluateScalar(double x) { return std::fabs(x); }
int64_t AbsOp::evaluateScalar(int64_t x, bool isUnsigned) {
  return isUnsigned || x > 0 ? x : int64_t(0 - uint64_t(x));
}
Scalar AbsOp::lowerScalar(Scalar x) {
  if (x.isFloat())
    return x.apply<math::AbsFOp>();
  return x.isUnsigned() ? x : (x < x.integer(0)).select(-x, x);
}
Value AbsOp::backward(Expr x, Expr, Expr dy) { return dy * x.apply<SignOp>(); }

double SignOp::evaluateScalar(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
int64_t SignOp::evaluateScalar(int64_t x, bool isUnsigned) {
  return isUnsigned ? x != 0 : (x > 0) - (x < 0);
}
Scalar SignOp::lowerScalar(Scalar x) {
  Scalar zero = x.number(0);
  Scalar positive = (x > zero).select(x.number(1), x);
  return x.isUnsigned() ? positive : (x < zero).select(x.number(-1), positive);
}
Value SignOp::backward(Expr, Expr, Expr) { return {}; }

double FloorOp::evaluateScalar(double x) { return std::floor(x); }
Scalar FloorOp::lowerScalar(Scalar x) { return x.apply<math::FloorOp>(); }
Value FloorOp::backward(Expr, Expr, Expr) { return {}; }

double CeilOp::evaluateScalar(double x) { return std::ceil(x); }
Scalar CeilOp::lowerScalar(Scalar x) { return x.apply<math::CeilOp>(); }
Value CeilOp::backward(Expr, Expr, Expr) { return {}; }

double RoundOp::evaluateScalar(double x) { return std::nearbyint(x); }
Scalar RoundOp::lowerScalar(Scalar x) { return x.apply<math::RoundEvenOp>(); }
Value RoundOp::backward(Expr, Expr, Expr) { return {}; }

// Exponentials and logarithms ---------------------------------------------------------------------

double ExpOp::evaluateScalar(double x) { return std::exp(x); }
Scalar ExpOp::lowerScalar(Scalar x) { return x.apply<math::ExpOp>(); }
Value ExpOp::backward(Expr, Expr y, Expr dy) { return dy * y; }

double Expm1Op::evaluateScalar(double x) { return std::expm1(x); }
Scalar Expm1Op::lowerScalar(Scalar x) { return x.apply<math::ExpM1Op>(); }
Value Expm1Op::backward(Expr, Expr y, Expr dy) { return dy * (y + 1); }

double LogOp::evaluateScalar(double x) { return std::log(x); }
Scalar LogOp::lowerScalar(Scalar x) { return x.apply<math::LogOp>(); }
Value LogOp::backward(Expr x, Expr, Expr dy) { return dy / x; }

double Log1pOp::evaluateScalar(double x) { return std::log1p(x); }
Scalar Log1pOp::lowerScalar(Scalar x) { return x.apply<math::Log1pOp>(); }
Value Log1pOp::backward(Expr x, Expr, Expr dy) { return dy / (1 + x); }

// Roots -------------------------------------------------------------------------------------------

double SqrtOp::evaluateScalar(double x) { return std::sqrt(x); }
Scalar SqrtOp::lowerScalar(Scalar x) { return x.apply<math::SqrtOp>(); }
Value SqrtOp::backward(Expr, Expr y, Expr dy) { return dy * 0.5 / y; }

double RsqrtOp::evaluateScalar(double x) { return 1 / std::sqrt(x); }
Scalar RsqrtOp::lowerScalar(Scalar x) { return x.apply<math::RsqrtOp>(); }
Value RsqrtOp::backward(Expr, Expr y, Expr dy) { return dy * -0.5 * (y * y * y); }

double ReciprocalOp::evaluateScalar(double x) { return 1 / x; }
Scalar ReciprocalOp::lowerScalar(Scalar x) { return 1 / x; }
Value ReciprocalOp::backward(Expr, Expr y, Expr dy) { return -dy * (y * y); }

// Trigonometry and the error function -------------------------------------------------------------

double SinOp::evaluateScalar(double x) { return std::sin(x); }
Scalar SinOp::lowerScalar(Scalar x) { return x.apply<math::SinOp>(); }
Value SinOp::backward(Expr x, Expr, Expr dy) { return dy * x.apply<CosOp>(); }

double CosOp::evaluateScalar(double x) { return std::cos(x); }
Scalar CosOp::lowerScalar(Scalar x) { return x.apply<math::CosOp>(); }
Value CosOp::backward(Expr x, Expr, Expr dy) { return -dy * x.apply<SinOp>(); }

double AtanOp::evaluateScalar(double x) { return std::atan(x); }
Scalar AtanOp::lowerScalar(Scalar x) { return x.apply<math::AtanOp>(); }
Value AtanOp::backward(Expr x, Expr, Expr dy) { return dy / (1 + x * x); }

double ErfOp::evaluateScalar(double x) { return std::erf(x); }
Scalar ErfOp::lowerScalar(Scalar x) { return x.apply<math::ErfOp>(); }
Value ErfOp::backward(Expr x, Expr, Expr dy) {
  return dy * (2 * std::numbers::inv_sqrtpi) * (-(x * x)).apply<ExpOp>();
}

// Bits --------------------------------------------------------------------------------------------

void NotOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  bool isBool = operands[0].getElementType().isInteger(1);
  for (int64_t i = 0, n = operands[0].size(); i < n; ++i) {
    int64_t x = operands[0].getInt(i);
    results[0].setInt(i, isBool ? !x : ~x);
  }
}
SmallVector<Value> NotOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  return lowerUnary(builder, *this, operands,
                    [](Scalar x) { return x.apply<arith::XOrIOp>(Value(x.integer(-1))); });
}
LogicalResult NotOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}
LoopKind NotOp::getLoopKind() { return LoopKind::elementwise; }
