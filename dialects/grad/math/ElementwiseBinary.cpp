// Elementwise ops of two operands: each op as a number, as a loop body, and its gradient.
#include "dialects/grad/Pointwise.h"
#include <cmath>

using namespace mlir;
using namespace mlir::grad;

using Pair = std::pair<Value, Value>;

// Arithmetic --------------------------------------------------------------------------------------

// Integers wrap: computed unsigned, where overflow is defined.
double AddOp::evaluateScalar(double a, double b) { return a + b; }
int64_t AddOp::evaluateScalar(int64_t a, int64_t b, bool) { return uint64_t(a) + uint64_t(b); }
Scalar AddOp::lowerScalar(Scalar a, Scalar b) { return a + b; }
Pair AddOp::backward(Expr, Expr, Expr, Expr dy) { return {dy, dy}; }

double SubOp::evaluateScalar(double a, double b) { return a - b; }
int64_t SubOp::evaluateScalar(int64_t a, int64_t b, bool) { return uint64_t(a) - uint64_t(b); }
Scalar SubOp::lowerScalar(Scalar a, Scalar b) { return a - b; }
Pair SubOp::backward(Expr, Expr, Expr, Expr dy) { return {dy, -dy}; }

double MulOp::evaluateScalar(double a, double b) { return a * b; }
int64_t MulOp::evaluateScalar(int64_t a, int64_t b, bool) { return uint64_t(a) * uint64_t(b); }
Scalar MulOp::lowerScalar(Scalar a, Scalar b) { return a * b; }
Pair MulOp::backward(Expr a, Expr b, Expr, Expr dy) { return {dy * b, dy * a}; }

double DivOp::evaluateScalar(double a, double b) { return a / b; }
int64_t DivOp::evaluateScalar(int64_t a, int64_t b, bool isUnsigned) {
  if (b == 0)
    return 0;
  if (isUnsigned)
    return uint64_t(a) / uint64_t(b);
  return b == -1 ? int64_t(0 - uint64_t(a)) : a / b;
}
Scalar DivOp::lowerScalar(Scalar a, Scalar b) {
  if (a.isFloat())
    return a / b;
  Scalar zero = b.integer(0), one = b.integer(1);
  if (a.isUnsigned()) {
    Scalar quotient = a.apply<arith::DivUIOp>(Value((b == zero).select(one, b)));
    return (b == zero).select(zero, quotient);
  }
  // The smallest integer has no negative in its type: dividing by -1 wraps, as negation does.
  Scalar minusOne = b.integer(-1);
  Scalar divisor = ((b == zero) | (b == minusOne)).select(one, b);
  Scalar quotient = a.apply<arith::DivSIOp>(Value(divisor));
  return (b == zero).select(zero, (b == minusOne).select(-a, quotient));
}
Pair DivOp::backward(Expr, Expr b, Expr y, Expr dy) {
  Expr da = dy / b;
  return {da, -da * y};
}

double RemOp::evaluateScalar(double a, double b) { return std::fmod(a, b); }
int64_t RemOp::evaluateScalar(int64_t a, int64_t b, bool isUnsigned) {
  if (b == 0 || (!isUnsigned && b == -1))
    return 0;
  return isUnsigned ? int64_t(uint64_t(a) % uint64_t(b)) : a % b;
}
Scalar RemOp::lowerScalar(Scalar a, Scalar b) {
  if (a.isFloat())
    return a.apply<arith::RemFOp>(Value(b));
  Scalar zero = b.integer(0), one = b.integer(1);
  if (a.isUnsigned())
    return (b == zero).select(zero, a.apply<arith::RemUIOp>(Value((b == zero).select(one, b))));
  // a rem 1 is 0, which serves for both 0 and -1.
  Scalar divisor = ((b == zero) | (b == b.integer(-1))).select(one, b);
  return a.apply<arith::RemSIOp>(Value(divisor));
}
Pair RemOp::backward(Expr a, Expr b, Expr, Expr dy) {
  Expr quotient = a / b;
  Expr truncated = quotient.apply<SignOp>() * quotient.apply<AbsOp>().apply<FloorOp>();
  return {dy, -dy * truncated};
}

// Powers ------------------------------------------------------------------------------------------

/// Below it, 1 / x may be infinite.
static double smallestNormal(Type element) {
  const llvm::fltSemantics &semantics = cast<FloatType>(element).getFloatSemantics();
  return APFloat::getSmallestNormalized(semantics).convertToDouble();
}

double PowOp::evaluateScalar(double a, double b) { return std::pow(a, b); }
Scalar PowOp::lowerScalar(Scalar a, Scalar b) { return a.apply<math::PowFOp>(Value(b)); }
Pair PowOp::backward(Expr a, Expr b, Expr y, Expr dy) {
  Expr zero = a.splat(0), one = a.splat(1);
  bool isConstant = matchPattern(b.get(), m_Constant());
  // b a^(b-1) is 0 at b = 0 for every a: the exponent is moved away before 0 * inf arises. Only
  // there, because its own derivative by b is a^-1; a constant exponent stays a constant.
  double least = smallestNormal(a.element());
  Expr moved = isConstant
                   ? one
                   : a.apply<AbsOp>().compare(ComparePredicate::lt, a.splat(least)).select(one, b);
  Expr exponent = b.compare(ComparePredicate::eq, zero).select(moved, b) - 1;
  Expr da = dy * b * a.apply<PowOp>(exponent);
  if (isConstant)
    return {da, {}};
  // 0^b stays 0 around a positive b, so its derivative is 0, not 0 * log(0).
  Expr flat =
      a.compare(ComparePredicate::eq, zero).apply<AndOp>(b.compare(ComparePredicate::ge, zero));
  Expr db = dy * y * flat.select(one, a).apply<LogOp>();
  return {da, db};
}

namespace {
/// Exponents whose power is a single, correctly rounded operation.
struct SimplifyConstantPower : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op, PatternRewriter &rewriter) const override {
    DenseFPElementsAttr exponents;
    if (!matchPattern(op.getRhs(), m_Constant(&exponents)) || !exponents.isSplat())
      return failure();
    APFloat exponent = exponents.getSplatValue<APFloat>();
    if (exponent.isExactlyValue(1))
      rewriter.replaceOp(op, op.getLhs());
    else if (exponent.isExactlyValue(2))
      rewriter.replaceOpWithNewOp<MulOp>(op, op.getLhs(), op.getLhs());
    else if (exponent.isExactlyValue(-1))
      rewriter.replaceOpWithNewOp<ReciprocalOp>(op, op.getLhs());
    else
      return failure();
    return success();
  }
};
} // namespace

void PowOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SimplifyConstantPower>(context);
}

// Extremes ----------------------------------------------------------------------------------------

/// dy where `wins` holds, half of it at equality, else 0.
static Value shareGradient(ComparePredicate wins, Expr mine, Expr other, Expr dy) {
  Expr tie = mine.compare(ComparePredicate::eq, other).select(0.5 * dy, dy.splat(0));
  return mine.compare(wins, other).select(dy, tie);
}

double MaxOp::evaluateScalar(double a, double b) { return std::isnan(a) || a > b ? a : b; }
int64_t MaxOp::evaluateScalar(int64_t a, int64_t b, bool isUnsigned) {
  return isUnsigned ? int64_t(std::max(uint64_t(a), uint64_t(b))) : std::max(a, b);
}
Scalar MaxOp::lowerScalar(Scalar a, Scalar b) {
  // a > b ? a : b is one max instruction and passes b's NaN; a's NaN is put back afterwards.
  Scalar larger = (a > b).select(a, b);
  return a.isFloat() ? (a != a).select(a, larger) : larger;
}
Pair MaxOp::backward(Expr a, Expr b, Expr, Expr dy) {
  return {shareGradient(ComparePredicate::gt, a, b, dy),
          shareGradient(ComparePredicate::gt, b, a, dy)};
}

double MinOp::evaluateScalar(double a, double b) { return std::isnan(a) || a < b ? a : b; }
int64_t MinOp::evaluateScalar(int64_t a, int64_t b, bool isUnsigned) {
  return isUnsigned ? int64_t(std::min(uint64_t(a), uint64_t(b))) : std::min(a, b);
}
Scalar MinOp::lowerScalar(Scalar a, Scalar b) {
  Scalar smaller = (a < b).select(a, b);
  return a.isFloat() ? (a != a).select(a, smaller) : smaller;
}
Pair MinOp::backward(Expr a, Expr b, Expr, Expr dy) {
  return {shareGradient(ComparePredicate::lt, a, b, dy),
          shareGradient(ComparePredicate::lt, b, a, dy)};
}

// Bits --------------------------------------------------------------------------------------------

int64_t AndOp::evaluateScalar(int64_t a, int64_t b, bool) { return a & b; }
Scalar AndOp::lowerScalar(Scalar a, Scalar b) { return a.apply<arith::AndIOp>(Value(b)); }

int64_t OrOp::evaluateScalar(int64_t a, int64_t b, bool) { return a | b; }
Scalar OrOp::lowerScalar(Scalar a, Scalar b) { return a | b; }

int64_t XorOp::evaluateScalar(int64_t a, int64_t b, bool) { return a ^ b; }
Scalar XorOp::lowerScalar(Scalar a, Scalar b) { return a.apply<arith::XOrIOp>(Value(b)); }

/// Whether all bits of `a` are shifted out: LLVM leaves such shifts undefined.
static Scalar shiftsAll(Scalar a, Scalar b) {
  Scalar limit = b.integer(a.type().getIntOrFloatBitWidth() - 1);
  return b.isUnsigned() ? b > limit : (b < b.integer(0)) | (b > limit);
}

// Shifts beyond 63 bits give 0 in every type; narrower types truncate the result.
int64_t ShiftLeftOp::evaluateScalar(int64_t a, int64_t b, bool) {
  return b < 0 || b > 63 ? 0 : int64_t(uint64_t(a) << b);
}
Scalar ShiftLeftOp::lowerScalar(Scalar a, Scalar b) {
  Scalar all = shiftsAll(a, b), amount = all.select(b.integer(0), b);
  return all.select(a.integer(0), a.apply<arith::ShLIOp>(Value(amount)));
}

int64_t ShiftRightOp::evaluateScalar(int64_t a, int64_t b, bool isUnsigned) {
  bool all = b < 0 || b > 63;
  if (isUnsigned)
    return all ? 0 : int64_t(uint64_t(a) >> b);
  return a >> (all ? 63 : b);
}
Scalar ShiftRightOp::lowerScalar(Scalar a, Scalar b) {
  Scalar all = shiftsAll(a, b);
  if (a.isUnsigned()) {
    Scalar shifted = a.apply<arith::ShRUIOp>(Value(all.select(b.integer(0), b)));
    return all.select(a.integer(0), shifted);
  }
  Scalar most = b.integer(a.type().getIntOrFloatBitWidth() - 1);
  return a.apply<arith::ShRSIOp>(Value(all.select(most, b)));
}
