// Implements Philox twice: on plain integers, and as a loop body.
#include "dialects/grad/math/Random.h"

#include "dialects/grad/math/Philox.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mlir::grad;

// Reference ---------------------------------------------------------------------------------------

namespace {
/// The random bits of one op, element by element.
struct Generator {
  uint32_t seed, step, stream;
  Generator(const HostTensor &seed, const HostTensor &step, uint32_t stream)
      : seed(seed.getInt(0)), step(step.getInt(0)), stream(stream) {}
  uint32_t bits(int64_t i) const {
    return Philox::words({uint32_t(i), 0, stream, 0}, {seed, step})[0];
  }
  /// In [0, 1), a multiple of 2^-24.
  double uniform(int64_t i) const { return (bits(i) >> 8) * 0x1p-24; }
};
} // namespace

static LogicalResult verifyDraw(Operation *op, RankedTensorType seed, RankedTensorType result) {
  if (seed.getRank() != 0 || !seed.getElementType().isInteger(32))
    return op->emitOpError("expected seed and step to be 32-bit integers of rank 0, found ")
           << seed;
  if (result.getNumElements() > int64_t(1) << 32)
    return op->emitOpError("expected at most 2^32 elements, found ") << result.getNumElements();
  return success();
}

// Bits --------------------------------------------------------------------------------------------

LogicalResult RandomBitsOp::verify() {
  if (!getType().getElementType().isInteger(32))
    return emitOpError("expected a result of 32-bit integers, found ")
           << getType().getElementType();
  return verifyDraw(*this, getSeed().getType(), getType());
}

void RandomBitsOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  Generator generator(operands[0], operands[1], getStream());
  for (int64_t i = 0, n = results[0].size(); i < n; ++i)
    results[0].setInt(i, generator.bits(i));
}

namespace {
/// 32-bit words in a loop body.
struct Words {
  OpBuilder &b;
  Location loc;

  Value number(uint32_t n) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(int32_t(n)));
  }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }

  /// The element's row-major position.
  Value position(ArrayRef<int64_t> shape) {
    Value sum = number(0);
    for (auto [d, n] : llvm::enumerate(shape)) {
      Value index = linalg::IndexOp::create(b, loc, d);
      sum = add(mul(sum, number(uint32_t(n))),
                arith::IndexCastOp::create(b, loc, b.getI32Type(), index));
    }
    return sum;
  }
};
} // namespace

Value grad::buildRandomBits(OpBuilder &b, Location loc, Value index, uint32_t stream, Value seed,
                            Value step) {
  auto number = [&](uint32_t n) -> Value {
    TypedAttr value = b.getI32IntegerAttr(int32_t(n));
    if (auto lanes = dyn_cast<VectorType>(index.getType()))
      value = DenseElementsAttr::get(lanes, Attribute(value));
    return arith::ConstantOp::create(b, loc, value);
  };
  auto exclusive = [&](Value x, Value y) { return b.createOrFold<arith::XOrIOp>(loc, x, y); };
  auto plus = [&](Value x, uint32_t n) { return b.createOrFold<arith::AddIOp>(loc, x, number(n)); };
  Value m0 = number(Philox::multiplier0), m1 = number(Philox::multiplier1), zero = number(0);
  std::array<Value, 4> c{index, zero, number(stream), zero};
  std::array<Value, 2> key{seed, step};
  for (int round = 0; round < Philox::rounds; ++round) {
    auto p0 = arith::MulUIExtendedOp::create(b, loc, m0, c[0]);
    auto p1 = arith::MulUIExtendedOp::create(b, loc, m1, c[2]);
    c = {exclusive(exclusive(p1.getHigh(), c[1]), key[0]), p1.getLow(),
         exclusive(exclusive(p0.getHigh(), c[3]), key[1]), p0.getLow()};
    key = {plus(key[0], Philox::weyl0), plus(key[1], Philox::weyl1)};
  }
  return c[0];
}

SmallVector<Value> RandomBitsOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = signlessType(getType());
  int64_t rank = type.getRank();
  Value empty = tensor::EmptyOp::create(builder, getLoc(), type.getShape(), type.getElementType());
  auto scalar = AffineMap::get(rank, 0, getContext());
  SmallVector<AffineMap> maps{scalar, scalar, builder.getMultiDimIdentityMap(rank)};
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, getLoc(), type, operands, empty, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        Value bits = buildRandomBits(nested, loc, Words{nested, loc}.position(type.getShape()),
                                     getStream(), args[0], args[1]);
        linalg::YieldOp::create(nested, loc, bits);
      });
  return {generic.getResult(0)};
}
LogicalResult RandomBitsOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}
LoopKind RandomBitsOp::getLoopKind() { return LoopKind::elementwise; }

// Distributions -----------------------------------------------------------------------------------

/// `draw`'s bits of `stream` as ui32, in the shape of its result.
template <typename Op> static Expr drawBits(OpBuilder &builder, Op draw, uint32_t stream) {
  RankedTensorType type = draw.getType().clone(builder.getIntegerType(32, /*isSigned=*/false));
  return Expr(builder, draw.getLoc(),
              builder.createOrFold<RandomBitsOp>(draw.getLoc(), type, draw.getSeed(),
                                                 draw.getStep(), stream));
}

/// In [0, 1), computed in f32 at least: 16-bit floats cannot count to 2^24.
template <typename Op> static Expr drawUniform(OpBuilder &builder, Op draw, uint32_t stream) {
  Type computed = draw.getType().getElementType();
  if (!computed.isF64())
    computed = builder.getF32Type();
  // Below 2^24 signed and unsigned agree, and signed ones convert in one instruction.
  return (drawBits(builder, draw, stream) / 256).cast(builder.getI32Type()).cast(computed) *
         0x1p-24;
}

LogicalResult RandomUniformOp::verify() {
  return verifyDraw(*this, getSeed().getType(), getType());
}
void RandomUniformOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  Generator generator(operands[0], operands[1], getStream());
  double a = getA().convertToDouble(), b = getB().convertToDouble();
  for (int64_t i = 0, n = results[0].size(); i < n; ++i)
    results[0].setFloat(i, generator.uniform(i) * (b - a) + a);
}
SmallVector<Value> RandomUniformOp::decompose(OpBuilder &builder) {
  double a = getA().convertToDouble(), b = getB().convertToDouble();
  Expr u = drawUniform(builder, *this, getStream());
  return {(u * (b - a) + a).cast(getType().getElementType())};
}
LogicalResult RandomUniformOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}

LogicalResult RandomNormalOp::verify() { return verifyDraw(*this, getSeed().getType(), getType()); }
void RandomNormalOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  Generator radius(operands[0], operands[1], getStream());
  Generator angle(operands[0], operands[1], getStream() + 1);
  double mean = getA().convertToDouble(), deviation = getB().convertToDouble();
  for (int64_t i = 0, n = results[0].size(); i < n; ++i) {
    double r = std::sqrt(-2 * std::log(1 - radius.uniform(i)));
    results[0].setFloat(i,
                        r * std::cos(2 * std::numbers::pi * angle.uniform(i)) * deviation + mean);
  }
}
SmallVector<Value> RandomNormalOp::decompose(OpBuilder &builder) {
  // 1 - u is exact and in (0, 1], where the logarithm is finite.
  Expr u = 1 - drawUniform(builder, *this, getStream());
  Expr r = (-2 * u.apply<LogOp>()).apply<SqrtOp>();
  Expr angle = 2 * std::numbers::pi * drawUniform(builder, *this, getStream() + 1);
  Expr normal = r * angle.apply<CosOp>() * getB().convertToDouble() + getA().convertToDouble();
  return {normal.cast(getType().getElementType())};
}
LogicalResult RandomNormalOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}

// Dropout -----------------------------------------------------------------------------------------

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (!(ratio >= 0 && ratio < 1))
    return emitOpError("expected ratio in [0, 1), found ") << ratio;
  return verifyDraw(*this, getSeed().getType(), getType());
}

void DropoutOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double ratio = getRatio().convertToDouble();
  Generator generator(operands[1], operands[2], getStream());
  for (int64_t i = 0, n = results[0].size(); i < n; ++i) {
    bool kept = generator.bits(i) >= dropThreshold(ratio);
    results[0].setFloat(i, kept ? operands[0].getFloat(i) * (1 / (1 - ratio)) : 0);
  }
}
Expr grad::dropout(Expr x, Value seed, Value step, uint32_t stream, double ratio) {
  RankedTensorType type = x.type().clone(x.getBuilder().getIntegerType(32, /*isSigned=*/false));
  Expr bits =
      x.with(x.getBuilder().createOrFold<RandomBitsOp>(x.getLoc(), type, seed, step, stream));
  Expr kept = bits.compare(ComparePredicate::ge, bits.splat(dropThreshold(ratio)));
  return kept.select(x * (1 / (1 - ratio)), x.splat(0));
}
SmallVector<Value> DropoutOp::decompose(OpBuilder &builder) {
  return {dropout(Expr(builder, getLoc(), getOperand()), getSeed(), getStep(), getStream(),
                  getRatio().convertToDouble())};
}
LogicalResult DropoutOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                       SmallVectorImpl<Value> &operandGradients) {
  operandGradients[0] = builder.createOrFold<DropoutOp>(getLoc(), resultGradients[0], getSeed(),
                                                        getStep(), getStream(), getRatio());
  return success();
}
