// Casts between all element types, defined for every value: saturating, NaN to 0. Bits read as
// another type, and roundings that a gradient passes.
#include "dialects/grad/CastElements.h"
#include "dialects/grad/Pointwise.h"
#include <cmath>

using namespace mlir;
using namespace mlir::grad;

/// To a tensor of as many elements.
static void castInto(const HostTensor &x, HostTensor &y) {
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

HostTensor grad::castElements(const HostTensor &from, Type element) {
  HostTensor to(from.getType().clone(element));
  castInto(from, to);
  return to;
}

void CastOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  castInto(operands[0], results[0]);
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

/// The hardware's conversion is undefined out of range: clamp first, then put the limits in place
/// that floats of this type do not have. NaN is clamped to the least integer.
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
  if (most.getActiveBits() > APFloat::semanticsPrecision(semantics))
    y = (x > high).select(y.integer(most.getZExtValue()), y);
  return isUnsigned ? y : (x != x).select(y.integer(0), y);
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
    operandGradients[0] = builder.createOrFold<CastOp>(getLoc(), getOperand().getType(),
                                                       resultGradients[0], getStorage());
  return success();
}

/// Whether each value of `narrow` is one of `wide`.
static bool contains(FloatType wide, FloatType narrow) {
  return APFloat::isRepresentableBy(narrow.getFloatSemantics(), wide.getFloatSemantics());
}

OpFoldResult CastOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  // There and back.
  auto inner = getOperand().getDefiningOp<CastOp>();
  auto wide = dyn_cast<FloatType>(getOperand().getType().getElementType());
  auto narrow = dyn_cast<FloatType>(getType().getElementType());
  if (inner && wide && narrow && inner.getOperand().getType() == getType() &&
      contains(wide, narrow))
    return inner.getOperand();
  return {};
}

bool CastOp::isCheapToRepeat() {
  Type from = getOperand().getType().getElementType(), to = getType().getElementType();
  return isa<FloatType>(from) && isa<FloatType>(to) && elementBytes(from) < elementBytes(to);
}

LogicalResult CastOp::verify() {
  Type from = getOperand().getType().getElementType(), to = getType().getElementType();
  if (!getStorage() || (isa<FloatType>(from) && isa<FloatType>(to)))
    return success();
  return emitOpError("expected floats to be cast for storage, found ") << from << " and " << to;
}

LoopKind CastOp::getLoopKind() { return LoopKind::elementwise; }

LogicalResult BitCastOp::verify() {
  Type from = getOperand().getType().getElementType(), to = getType().getElementType();
  if (from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth())
    return success();
  return emitOpError("expected element types of as many bits, found ") << from << " and " << to;
}

/// Verification evaluates in f64: bits are those of the op's own element types. The shape is that
/// of the operand, which is a single element when splats are folded.
void BitCastOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  ArrayRef<int64_t> shape = operands[0].getShape();
  HostTensor bits = castElements(operands[0], getOperand().getType().getElementType());
  castInto(HostTensor(getType().clone(shape), bits.bytes()), results[0]);
}

/// No pointwise loop of the others, which widen 16-bit floats.
SmallVector<Value> BitCastOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  RankedTensorType type = signlessType(getType());
  if (operands[0].getType() == type)
    return {operands[0]};
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(b, getLoc(), type.getShape(), type.getElementType());
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value bits = arith::BitcastOp::create(nested, loc, type.getElementType(), args[0]);
    linalg::YieldOp::create(nested, loc, bits);
  };
  return {linalg::GenericOp::create(b, getLoc(), type, operands, empty, {identity, identity},
                                    iterators, body)
              .getResult(0)};
}

LogicalResult BitCastOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}

LoopKind BitCastOp::getLoopKind() { return LoopKind::elementwise; }

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
