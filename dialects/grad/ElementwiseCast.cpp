// Casts between all element types, defined for every value: saturating, NaN to 0.
#include "dialects/grad/Pointwise.h"
#include <cmath>

using namespace mlir;
using namespace mlir::grad;

void CastOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &x = operands[0];
  HostTensor &y = results[0];
  bool fromFloat = isa<FloatType>(x.getElementType());
  // Beyond i64, only f64 can represent the value of an unsigned 64-bit integer.
  bool wide = x.getElementType().isUnsignedInteger(64) && isa<FloatType>(y.getElementType());
  for (int64_t i = 0, n = x.size(); i < n; ++i) {
    if (fromFloat || (wide && x.getInt(i) < 0))
      y.setFloat(i, x.getFloat(i));
    else
      y.setInt(i, x.getInt(i));
  }
}

static Scalar floatToFloat(Scalar x, FloatType to) {
  if (x.type() == to)
    return x;
  return x.type().getIntOrFloatBitWidth() < to.getWidth() ? x.to<arith::ExtFOp>(to)
                                                          : x.to<arith::TruncFOp>(to);
}

/// The largest number of `semantics` that does not exceed the integer `limit`.
static APFloat floatAtMost(const llvm::fltSemantics &semantics, APSInt limit) {
  APFloat number(semantics);
  number.convertFromAPInt(limit, limit.isSigned(), APFloat::rmTowardZero);
  return number;
}

/// The hardware's conversion is undefined out of range: clamp first, then put the limits in place.
static Scalar floatToInt(Scalar x, IntegerType to, bool isUnsigned) {
  OpBuilder &b = x.getBuilder();
  unsigned width = to.getWidth();
  APSInt least = APSInt::getMinValue(width, isUnsigned);
  APSInt most = APSInt::getMaxValue(width, isUnsigned);
  const llvm::fltSemantics &semantics = cast<FloatType>(x.type()).getFloatSemantics();
  Scalar low = x.number(floatAtMost(semantics, least).convertToDouble());
  Scalar high = x.number(floatAtMost(semantics, most).convertToDouble());
  Scalar raised = (x > low).select(x, low);
  Scalar clamped = (raised < high).select(raised, high);
  Value converted = isUnsigned ? arith::FPToUIOp::create(b, x.getLoc(), to, clamped).getResult()
                               : arith::FPToSIOp::create(b, x.getLoc(), to, clamped).getResult();
  Scalar y(b, x.getLoc(), converted, isUnsigned);
  Scalar saturated = (x > high).select(y.integer(most.getZExtValue()), y);
  return (x != x).select(y.integer(0), saturated);
}

static Scalar intToFloat(Scalar x, FloatType to) {
  return x.isUnsigned() ? x.to<arith::UIToFPOp>(to) : x.to<arith::SIToFPOp>(to);
}

static Scalar intToInt(Scalar x, IntegerType to) {
  unsigned from = x.type().getIntOrFloatBitWidth();
  if (from == to.getWidth())
    return x;
  if (from > to.getWidth())
    return x.to<arith::TruncIOp>(to);
  return x.isUnsigned() ? x.to<arith::ExtUIOp>(to) : x.to<arith::ExtSIOp>(to);
}

SmallVector<Value> CastOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  Type target = signlessType(getType()).getElementType();
  bool toUnsigned = isUnsigned(getType());
  return lowerPointwise(builder, *this, operands, [&](ArrayRef<Scalar> scalars) {
    Scalar x = scalars[0];
    if (target.isInteger(1))
      return x.type().isInteger(1) ? x : x != x.number(0);
    // 16-bit floats convert through f32.
    if (auto to = dyn_cast<FloatType>(target)) {
      to = to.getWidth() < 32 ? Float32Type::get(getContext()) : to;
      return x.isFloat() ? floatToFloat(x, to) : intToFloat(x, to);
    }
    auto to = cast<IntegerType>(target);
    return x.isFloat() ? floatToInt(x, to, toUnsigned) : intToInt(x, to);
  });
}

LogicalResult CastOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  Type from = getOperand().getType().getElementType();
  if (isa<FloatType>(from) && isa<FloatType>(getType().getElementType()))
    operandGradients[0] = Expr(builder, getLoc(), resultGradients[0]).cast(from);
  return success();
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? OpFoldResult(getOperand()) : OpFoldResult();
}

LoopKind CastOp::getLoopKind() { return LoopKind::elementwise; }
