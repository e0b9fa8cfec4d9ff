// QuantizeLinear and DequantizeLinear: per tensor, per axis, and per block.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static bool isQuantized(Type element) {
  return element.isIntOrIndex() && !element.isInteger(1) && element.getIntOrFloatBitWidth() <= 16;
}

bool gradc::isOfQuantization(const onnx::NodeProto &node) {
  StringRef op = node.op_type();
  return op == "QuantizeLinear" || op == "DequantizeLinear" || op == "DynamicQuantizeLinear" ||
         StringRef(node.name()).starts_with(quantizationPrefix);
}

LogicalResult gradc::expectQuantized(Node &n, const Quantized &q) {
  if (!isQuantized(n.element(q.value)))
    return n.error() << "expected integers of 8 or 16 bits as " << n.describeOperand(q.value);
  if (failed(n.expect(q.scale, Kind::Float)))
    return failure();
  return n.operand(q.zeroPoint) ? n.expectSameElement(q.value, q.zeroPoint) : success();
}

Expr gradc::saturate(Expr x, Expr zeroPoint, Type element) {
  Type f32 = x.getBuilder().getF32Type();
  return (x.apply<RoundOp>().cast(f32) + zeroPoint.cast(f32)).cast(element);
}

Expr gradc::spreadBlocks(Expr value, ArrayRef<int64_t> shape, int64_t dim, int64_t block) {
  SmallVector<int64_t> wide(value.shape()), whole(wide), kept;
  int64_t rank = int64_t(shape.size());
  wide.insert(wide.begin() + dim + 1, block);
  whole[dim] *= block;
  for (int64_t d = 0; d <= rank; ++d)
    if (d != dim + 1)
      kept.push_back(d);
  value = value.broadcast(value.type().clone(wide), kept).reshape(whole);
  if (ArrayRef(whole) == shape)
    return value;
  SmallVector<int64_t> starts(rank, 0), ones(rank, 1);
  return value.with(
      value.getBuilder().createOrFold<SliceOp>(value.getLoc(), value, starts, shape, ones));
}

/// A scale or zero point, the numbers `value` of operand `i`, broadcast to the elements of operand
/// 0: one for all, one per index of `axis`, or one per block along it.
static FailureOr<Expr> spread(Node &n, unsigned i, Expr value, int64_t axis, int64_t block) {
  RankedTensorType type = n.type(0).clone(value.element());
  if (n.type(i).getNumElements() == 1 && n.rank(i) <= 1)
    return value.reshape({}).broadcastScalar(type);
  FailureOr<int64_t> dim = n.axis(axis, n.rank(0));
  if (failed(dim))
    return failure();
  int64_t size = n.shape(0)[*dim];
  if (block == 0 && n.rank(i) == 1 && n.shape(i)[0] == size)
    return value.broadcast(type, {*dim});
  SmallVector<int64_t> blocks(n.shape(0));
  if (block > 0)
    blocks[*dim] = llvm::divideCeil(size, block);
  if (block <= 0 || n.shape(i) != ArrayRef(blocks))
    return n.error() << "expected one scale and zero point, one for each of the " << size
                     << " indices of dim " << *dim << ", or, with a block_size, one for each block"
                     << ", found block_size " << block << " and " << n.describeOperand(i);
  return spreadBlocks(value, n.shape(0), *dim, block);
}

/// Operand 1 broadcast to the elements of operand 0; float8e8m0 becomes the powers of two that it
/// represents.
static FailureOr<Expr> spreadScale(Node &n, int64_t axis, int64_t block) {
  FailureOr<Expr> scale = spread(n, 1, n.expr(1u), axis, block);
  if (failed(scale) || !n.narrow(1))
    return scale;
  if (n.narrow(1)->family == NarrowType::exponent)
    return decode(*scale, *n.narrow(1));
  return n.error() << "expected numbers or float8e8m0 as scale, found " << n.describeOperand(1);
}

/// The element type that attribute `name` asks for; `otherwise` if it is missing.
static FailureOr<Type> typeAttribute(Node &n, StringRef name, Type otherwise) {
  int32_t number = int32_t(n.integer(name, 0));
  if (number == 0)
    return otherwise;
  if (Type element = elementType(*n.builder().getContext(), number))
    return element;
  return n.error() << "with " << name << " " << dataTypeName(number) << " is not supported";
}

/// The codes of saturate(quotient + zero point); for integers, after rounding.
static Expr quantize(Expr quotient, std::optional<Expr> zero, const NarrowType &type,
                     bool saturates) {
  Type element = quotient.element();
  std::optional<Expr> offset;
  if (zero)
    offset = decode(*zero, type).cast(element);
  if (type.family != NarrowType::integer)
    return encode(offset ? quotient + *offset : quotient, type, {saturates});
  Expr rounded = quotient.apply<RoundOp>();
  Expr sum = offset ? rounded + *offset : rounded;
  double least = type.isSigned ? -double(1 << (type.bits - 1)) : 0;
  Expr raised = sum.apply<MaxOp>(sum.splat(least));
  return encode(raised.apply<MinOp>(sum.splat(least + (1 << type.bits) - 1)), type);
}

/// quotient + zero point where that is rounded to a code of `element`, else 0: gradients flow
/// through it as if there was no rounding.
static Expr softCodes(Expr quotient, Expr zeroPoint, Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  double least = element.isUnsignedInteger() ? 0 : -std::ldexp(1, int(bits) - 1);
  Expr shift = zeroPoint.cast(quotient.element()), code = quotient.apply<RoundOp>() + shift;
  Expr isAbove = code.compare(ComparePredicate::ge, code.splat(least)),
       isBelow =
           code.compare(ComparePredicate::le, code.splat(least + std::ldexp(1, int(bits)) - 1));
  return isAbove.select(isBelow, isBelow.splat(0)).select(quotient + shift, quotient.splat(0));
}

/// saturate(round(x / scale) + zero point), divided in the precision of the scale.
static LogicalResult importQuantizeLinear(Node &n) {
  int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0);
  bool saturates = n.integer("saturate", 1);
  Type unsignedByte = n.builder().getIntegerType(8, /*isSigned=*/false);
  bool hasZero = bool(n.operand(2));
  // Without output_dtype, the type of the zero point decides.
  int32_t asked = int32_t(n.integer("output_dtype", 0));
  const NarrowType *narrow = asked || !hasZero ? findNarrow(asked) : n.narrow(2);
  FailureOr<Type> result = unsignedByte; // also the type of codes
  if (!narrow)
    result = typeAttribute(n, "output_dtype", hasZero ? n.element(2) : unsignedByte);
  Type f32 = n.builder().getF32Type();
  bool byScale = isa<FloatType>(n.element(1)) && n.opset() >= 19;
  FailureOr<Type> compute = typeAttribute(n, "precision", byScale ? n.element(1) : f32);
  if (failed(result) || failed(compute) || failed(n.expect(0, Kind::Number)) ||
      failed(n.expect(1, Kind::Number)))
    return failure();
  if (hasZero && (narrow != n.narrow(2) || *result != n.element(2)))
    return n.error() << "expected a zero point of the output_dtype, found " << n.describeOperand(2);
  if (!isQuantized(*result) || !isa<FloatType>(*compute) ||
      (narrow && narrow->family == NarrowType::exponent))
    return n.error() << "expected integers of 2 to 16 bits or floats of 4 or 8 with a mantissa as "
                        "results, and a float precision";
  if (n.narrow(0))
    return n.error() << "expected numbers to quantize, found " << n.describeOperand(0);
  n.getEntry().getStates().makeScale(n.operand(1), n.loc());
  FailureOr<Expr> scale = spreadScale(n, axis, block), zero = scale;
  if (succeeded(scale) && hasZero)
    zero = spread(n, 2, n.expr(2u), axis, block);
  if (failed(scale) || failed(zero))
    return failure();
  Expr quotient = n.expr(0u).cast(*compute) / scale->cast(*compute);
  if (narrow)
    return n.setNarrow(
        0, quantize(quotient, hasZero ? std::optional(*zero) : std::nullopt, *narrow, saturates),
        narrow);
  Expr shift = hasZero ? *zero : quotient.splat(0), codes = saturate(quotient, shift, *result);
  if (n.mayDifferentiate())
    n.getEntry().markNarrow(codes, nullptr, softCodes(quotient, shift, *result));
  return n.set(codes);
}

/// The codes of operand 0 as floats. Gradients pass the rounding that made them, within its limits,
/// as in quantization-aware training.
static Expr numbersOf(Node &n, Value soft) {
  Expr codes = n.expr(0u).cast(n.builder().getF32Type());
  return n.expr(soft).cast(codes.element()).apply<StraightThroughOp>(codes);
}

namespace {
/// Integers, and how they are encoded in bytes; null: not at all.
struct Codes {
  Expr value;
  const NarrowType *narrow;

  /// The numbers that `x`, some of these codes, represent: integers of 32 bits, or floats.
  Expr numbers(Expr x) const {
    return narrow ? decode(x, *narrow) : x.cast(x.getBuilder().getI32Type());
  }
};
} // namespace

/// Operand `i`. Bytes hold narrow integers as they are, so that kernels multiply those that are
/// known at compile time like other codes.
static Codes codesOf(Node &n, unsigned i) {
  const NarrowType *narrow = n.narrow(i);
  ElementsAttr known;
  if (!narrow || narrow->family != NarrowType::integer ||
      !matchPattern(n.operand(i), m_Constant(&known)))
    return {n.expr(i), narrow};
  if (!narrow->isSigned)
    return {n.expr(i), nullptr};
  HostTensor bits(known); // their sign is extended
  auto type = bits.getType().clone(n.builder().getI8Type());
  return {n.expr(n.constant(HostTensor(type, bits.bytes()))), nullptr};
}

/// The zero points of DequantizeLinear. Those of blocks are few before they are spread; passes
/// look for vectors of codes.
static FailureOr<Expr> spreadZeros(Node &n, int64_t axis, int64_t block) {
  Codes codes = codesOf(n, 2);
  if (block > 0)
    return spread(n, 2, codes.numbers(codes.value), axis, block);
  FailureOr<Expr> zeros = spread(n, 2, codes.value, axis, block);
  if (failed(zeros))
    return failure();
  return codes.numbers(*zeros);
}

/// (x - zero point) * scale, in f32.
static LogicalResult importDequantizeLinear(Node &n) {
  int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0);
  Type f32 = n.builder().getF32Type();
  FailureOr<Type> result = typeAttribute(n, "output_dtype", n.narrow(1) ? f32 : n.element(1));
  if (failed(result) || failed(n.expect(0, Kind::Int)) ||
      (!n.narrow(1) && failed(n.expect(1, Kind::Float))))
    return failure();
  if (!isa<FloatType>(*result))
    return n.error() << "expected a float as output_dtype";
  n.getEntry().getStates().makeScale(n.operand(1), n.loc());
  Codes codes = codesOf(n, 0);
  Value soft = n.narrow(0) ? Value() : n.getEntry().roundedTo(n.operand(0));
  Expr x = soft ? numbersOf(n, soft) : codes.narrow ? codes.numbers(codes.value) : codes.value;
  if (n.operand(2)) {
    FailureOr<Expr> zero = spreadZeros(n, axis, block);
    if (failed(n.expectSameElement(0, 2)) || failed(zero))
      return failure();
    x = soft ? x - zero->cast(f32) : codes.numbers(codes.value) - *zero;
  }
  FailureOr<Expr> scale = spreadScale(n, axis, block);
  if (failed(scale))
    return failure();
  return n.set((x.cast(f32) * scale->cast(f32)).cast(*result));
}

void gradc::addQuantizationOps(OpTable &ops) {
  ops["QuantizeLinear"] = {importQuantizeLinear, 2, 3};
  ops["DequantizeLinear"] = {importDequantizeLinear, 2, 3};
  // ONNX Runtime's tools write these for types that ONNX had not yet.
  for (StringRef name : {"QuantizeLinear", "DequantizeLinear"}) {
    ops[name].narrow = TakesNarrow::itself;
    ops[("com.microsoft::" + name).str()] = ops[name];
  }
}
