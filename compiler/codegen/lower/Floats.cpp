// Building blocks for the expansions of math functions.
#include "compiler/codegen/lower/Floats.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <cmath>

using namespace mlir;
using namespace gradc::lower;

Type Float::sameShape(Type element) const {
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    return vector.clone(element);
  return element;
}

Value Float::constant(Type type, double x) const {
  APFloat number(x);
  bool lossy;
  Type element = getElementTypeOrSelf(type);
  number.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &lossy);
  TypedAttr attribute = FloatAttr::get(element, number);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(*b, location, attribute);
}

Value Float::integer(int64_t x) const {
  Type type = sameShape(b->getIntegerType(isF64() ? 64 : 32));
  TypedAttr attribute = b->getIntegerAttr(getElementTypeOrSelf(type), x);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(*b, location, attribute);
}

Float Float::fma(Float y, Float z) const {
  return with(math::FmaOp::create(*b, location, value, y.value, z.value));
}

Float Float::polynomial(ArrayRef<double> coefficients) const {
  Float p = number(coefficients.front());
  for (double c : coefficients.drop_front())
    p = p.fma(*this, number(c));
  return p;
}

Value Float::compare(arith::CmpFPredicate how, Float y) const {
  return arith::CmpFOp::create(*b, location, how, value, y.value);
}
Float Float::select(Value condition, Float otherwise) const {
  return with(arith::SelectOp::create(*b, location, condition, value, otherwise.value));
}
Float Float::repeat(llvm::function_ref<std::pair<Float, Value>(Float)> step) const {
  auto loop = scf::WhileOp::create(
      *b, location, value.getType(), value,
      [&](OpBuilder &body, Location, ValueRange arguments) {
        auto [next, again] = step(Float(body, location, arguments[0], hasScales));
        if (isa<VectorType>(again.getType()))
          again = vector::ReductionOp::create(body, location, vector::CombiningKind::OR, again);
        scf::ConditionOp::create(body, location, again, next.value);
      },
      [&](OpBuilder &body, Location, ValueRange arguments) {
        scf::YieldOp::create(body, location, arguments);
      });
  return with(loop.getResult(0));
}
Value Float::both(Value x, Value y) const { return arith::AndIOp::create(*b, location, x, y); }
Value Float::either(Value x, Value y) const { return arith::OrIOp::create(*b, location, x, y); }
Float Float::atLeast(double low) const {
  Float limit = number(low);
  return limit.select(limit.compare(arith::CmpFPredicate::OGT, *this), *this);
}
Float Float::atMost(double high) const {
  Float limit = number(high);
  return limit.select(limit.compare(arith::CmpFPredicate::OLT, *this), *this);
}

// Adding 1.5 * 2^mantissa leaves the nearest integer in the low bits. AVX2 has no conversion
// instruction for 64-bit integers.
static double magic(const Float &x) { return x.isF64() ? 0x1.8p52 : 0x1.8p23; }

/// The vectors that one instruction scales: all lanes of f32 in the widest registers.
bool Float::isScaled() const {
  auto type = dyn_cast<VectorType>(value.getType());
  return hasScales && type && type.getElementType().isF32() && type.getNumElements() == 16;
}

Float::Whole Float::nearest() const {
  if (isScaled())
    return {roundEven().value, {}};
  Float shifted = *this + magic(*this);
  return {(shifted - magic(*this)).value,
          integerOp<arith::SubIOp>(shifted.bits(), number(magic(*this)).bits())};
}
Float Float::fromInteger(Value n) const {
  return fromBits(integerOp<arith::AddIOp>(n, number(magic(*this)).bits())) - magic(*this);
}
Float Float::powerOfTwo(Whole n, int more) const {
  if (isScaled())
    return number(std::ldexp(1.0, more)).scale(n);
  Value biased = integerOp<arith::AddIOp>(n.integer, integer((isF64() ? 1023 : 127) + more));
  return fromBits(integerOp<arith::ShLIOp>(biased, integer(mantissaBits())));
}
Float Float::scaleNormal(Whole n) const { return isScaled() ? scale(n) : *this * powerOfTwo(n); }
Float Float::scale(Whole n) const {
  if (isScaled()) {
    Value all = arith::ConstantIntOp::create(*b, location, -1, 16);
    Value rounding = arith::ConstantIntOp::create(*b, location, 4, 32); // the current one
    auto call = LLVM::CallIntrinsicOp::create(
        *b, location, value.getType(), b->getStringAttr("llvm.x86.avx512.mask.scalef.ps.512"),
        ValueRange{value, n.number, value, all, rounding});
    return with(call.getResult(0));
  }
  // In two steps, whose powers are normal.
  Value half = integerOp<arith::ShRSIOp>(n.integer, integer(1));
  Value rest = integerOp<arith::SubIOp>(n.integer, half);
  return *this * powerOfTwo({{}, half}) * powerOfTwo({{}, rest});
}

Value Float::bits() const {
  return arith::BitcastOp::create(*b, location, integer(0).getType(), value);
}
Float Float::fromBits(Value bits) const {
  return with(arith::BitcastOp::create(*b, location, value.getType(), bits));
}
Float Float::toF64() const {
  if (isF64())
    return *this;
  return with(arith::ExtFOp::create(*b, location, sameShape(b->getF64Type()), value));
}
Float Float::toF32() const {
  return with(arith::TruncFOp::create(*b, location, sameShape(b->getF32Type()), value));
}

std::optional<APFloat> gradc::lower::constantOf(Value value) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    value = broadcast.getSource();
  APFloat number(0.0);
  return matchPattern(value, m_ConstantFloat(&number)) ? std::optional(number) : std::nullopt;
}
