// Building blocks for the expansions of math functions.
#include "compiler/codegen/lower/Floats.h"

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
        auto [next, again] = step(Float(body, location, arguments[0]));
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

std::pair<Float, Value> Float::nearest() const {
  Float shifted = *this + magic(*this);
  return {shifted - magic(*this),
          integerOp<arith::SubIOp>(shifted.bits(), number(magic(*this)).bits())};
}
Float Float::fromInteger(Value n) const {
  return fromBits(integerOp<arith::AddIOp>(n, number(magic(*this)).bits())) - magic(*this);
}
Float Float::powerOfTwo(Value n) const {
  Value biased = integerOp<arith::AddIOp>(n, integer(isF64() ? 1023 : 127));
  return fromBits(integerOp<arith::ShLIOp>(biased, integer(mantissaBits())));
}
Float Float::scale(Value n) const {
  Value half = integerOp<arith::ShRSIOp>(n, integer(1));
  return *this * powerOfTwo(half) * powerOfTwo(integerOp<arith::SubIOp>(n, half));
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
