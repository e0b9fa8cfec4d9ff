// ONNX's arithmetic, comparisons, and logic. numpy's broadcasting becomes explicit here.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/ops/Indices.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

template <typename Op, Kind kind> static LogicalResult unary(Node &n) {
  if (failed(n.expect(0, kind)))
    return failure();
  return n.set(n.expr(0u).apply<Op>());
}

/// `wide`, float operand `i` broadcast to some shape, with 1 behind its extent where gradients may
/// be taken. If it has 0 there, such as the softmax of padding, its logarithm, its inverse and
/// their slopes are infinite, and products of these with the gradient 0 are NaN.
static Expr onesBehindExtent(Node &n, unsigned i, Value wide) {
  std::optional<RunExtent> extent = n.extent(i);
  if (!extent || !n.mayDifferentiate() || !isa<FloatType>(n.element(i)) || n.opset() < 7)
    return n.expr(wide);
  Expr ones = n.neutralBehindExtent(i, n.expr(i), extent->dim, 1);
  return n.expr(n.broadcast(ones, n.expr(wide).shape()));
}

/// A function that is infinite, or steep, at 0.
template <typename Op> static LogicalResult steep(Node &n) {
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  return n.set(onesBehindExtent(n, 0, n.operand(0)).apply<Op>());
}

/// In opset 6, operand 1 has the dims of operand 0 from `axis` on, or the last dims, and needs the
/// attribute `broadcast`.
static FailureOr<SmallVector<Value>> broadcastByAxis(Node &n) {
  int64_t rank = n.rank(1), axis = n.integer("axis", n.rank(0) - rank);
  bool broadcasts = n.integer("broadcast", 0);
  if (!broadcasts && n.shape(0) == n.shape(1))
    return SmallVector<Value>{n.operand(0), n.operand(1)};
  SmallVector<int64_t> shape(n.shape(1));
  shape.append(std::max<int64_t>(n.rank(0) - rank - axis, 0), 1);
  auto common = broadcastShape(n.shape(0), shape);
  if (!broadcasts || axis < 0 || !common || *common != n.shape(0))
    return n.error() << "expected operand 1 to match operand 0 from axis " << axis
                     << " on, with broadcast = 1, found " << n.describeOperand(0) << " and "
                     << n.describeOperand(1);
  Value wide = n.broadcast(n.expr(1).reshape(shape), n.shape(0));
  return SmallVector<Value>{n.operand(0), wide};
}

/// All operands with one element type, broadcast to one shape.
static FailureOr<SmallVector<Value>> numpyOperands(Node &n, Kind kind) {
  for (unsigned i = 0; i < n.operandCount(); ++i)
    if (!n.operand(i))
      return n.error() << "operand " << i << " is missing";
  for (unsigned i = 0; i < n.operandCount(); ++i)
    if (failed(n.expect(i, kind)) || failed(n.expectSameElement(0, i)))
      return failure();
  if (n.opset() < 7 && n.operandCount() == 2)
    return broadcastByAxis(n);
  return n.broadcastOperands(0, n.operandCount());
}

template <typename Op, Kind kind> static LogicalResult binary(Node &n) {
  auto operands = numpyOperands(n, kind);
  if (failed(operands))
    return failure();
  return n.set(n.expr((*operands)[0]).apply<Op>((*operands)[1]));
}

static LogicalResult importDiv(Node &n) {
  auto operands = numpyOperands(n, Kind::Number);
  if (failed(operands))
    return failure();
  Expr divisor = onesBehindExtent(n, 1, (*operands)[1]);
  return n.set(n.expr((*operands)[0]).apply<DivOp>(divisor));
}

/// Max, Min, Sum, and Mean of any number of operands, from left to right. 16-bit floats are summed
/// in f32 if there is a sum between operands and result.
template <typename Op, Kind kind, bool mean = false> static LogicalResult variadic(Node &n) {
  auto operands = numpyOperands(n, kind);
  if (failed(operands))
    return failure();
  bool isLong = std::is_same_v<Op, AddOp> && (mean || operands->size() > 2);
  Type type = n.element(0), compute = isLong ? accumulatorOf(type) : type;
  Expr result = n.expr(operands->front()).cast(compute);
  for (Value next : llvm::drop_begin(*operands))
    result = result.apply<Op>(result.with(next).cast(compute));
  return n.set((mean ? result / double(operands->size()) : result).cast(type));
}

template <ComparePredicate predicate, Kind kind> static LogicalResult compare(Node &n) {
  auto operands = numpyOperands(n, kind);
  if (failed(operands))
    return failure();
  Expr result = n.expr((*operands)[0]).compare(predicate, (*operands)[1]);
  if (n.isText(0) != n.isText(1))
    return n.error() << "expected strings or numbers, found " << n.describeOperand(0) << " and "
                     << n.describeOperand(1);
  if (n.isText(0) && (n.extent(0) || n.extent(1)))
    return n.error() << "expected strings whose number is known before the run";
  return n.set(n.isText(0) ? all(result, result.type().getRank() - 1) : result);
}

/// Shifting out all bits gives 0, or the sign for right shifts of signed numbers.
static LogicalResult importBitShift(Node &n) {
  StringRef direction = n.string("direction", "");
  if (direction == "LEFT")
    return binary<ShiftLeftOp, Kind::Int>(n);
  if (direction == "RIGHT")
    return binary<ShiftRightOp, Kind::Int>(n);
  return n.error() << "expected direction \"LEFT\" or \"RIGHT\", found \"" << direction << "\"";
}

/// Computes the power by squaring; exact as long as it fits in 64 bits. A negative power is 0,
/// except for bases 1 and -1.
static Expr integerPower(Expr base, Expr exponent) {
  Expr zero = base.splat(0), one = base.splat(1), odd = exponent.apply<AndOp>(one);
  auto is = [](ComparePredicate p, Expr a, Expr b) { return a.compare(p, b); };
  // Above 63, only powers of 0, 1, and -1 fit. They depend on whether the exponent is odd.
  Expr left = is(ComparePredicate::gt, exponent, base.splat(63)).select(odd + 62, exponent);
  Expr result = one, square = base;
  for (int bit = 0; bit < 6; ++bit) {
    Expr factor = left.apply<ShiftRightOp>(base.splat(bit)).apply<AndOp>(one);
    result = is(ComparePredicate::eq, factor, one).select(result * square, result);
    square = square * square;
  }
  Expr minusOne = base.splat(-1), sign = is(ComparePredicate::eq, odd, one).select(minusOne, one);
  Expr inverse = is(ComparePredicate::eq, base, minusOne).select(sign, zero);
  inverse = is(ComparePredicate::eq, base, one).select(one, inverse);
  return is(ComparePredicate::lt, exponent, zero).select(inverse, result);
}

/// The exponent's type may differ from the base's; the result has the base's type.
static LogicalResult importPow(Node &n) {
  if (failed(n.expect(0, Kind::Number)) || failed(n.expect(1, Kind::Number)))
    return failure();
  if (auto exponent = n.tryKnown(1);
      exponent && exponent->size() == 1 && exponent->getFloat(0) == 2 && n.rank(1) <= n.rank(0))
    return n.set(n.expr(0u) * n.expr(0u));
  auto operands = n.broadcastOperands(0, 2);
  if (failed(operands))
    return failure();
  Type result = n.element(0), compute = result;
  if (!isa<FloatType>(result)) {
    // f64 represents every integer power that fits in 32 bits, but not all powers in 64 bits.
    if (result.getIntOrFloatBitWidth() > 32 && !isa<FloatType>(n.element(1)))
      return n.set(integerPower(n.expr((*operands)[0]), n.expr((*operands)[1]).cast(result)));
    compute = n.builder().getF64Type();
  }
  Expr base = onesBehindExtent(n, 0, (*operands)[0]).cast(compute);
  Expr exponent = n.expr((*operands)[1]).cast(compute);
  Expr power = base.apply<PowOp>(exponent);
  if (isa<FloatType>(result))
    return n.set(power);
  // An integer power may be computed slightly too small; truncation would lose 1.
  Expr integer = power.apply<RoundOp>(), error = (power - integer).apply<AbsOp>();
  Value isInteger = error.compare(ComparePredicate::le, integer.apply<AbsOp>() * 1e-12);
  return n.set(n.expr(isInteger).select(integer, power).cast(result));
}

static LogicalResult importMod(Node &n) {
  bool cStyle = n.integer("fmod", 0);
  auto operands = numpyOperands(n, Kind::Number);
  if (failed(operands))
    return failure();
  bool isFloat = isa<FloatType>(n.element(0));
  if (isFloat && !cStyle && n.opset() < 28)
    return n.error() << "expected fmod = 1 with floats up to opset 27, found 0";
  Expr a = n.expr((*operands)[0]), b = n.expr((*operands)[1]), rest = a.apply<RemOp>(b);
  if (cStyle)
    return n.set(rest);
  // The remainder has the divisor's sign, as in Python.
  Expr zero = rest.splat(0), negative = rest.compare(ComparePredicate::lt, zero);
  Expr differs = negative.apply<XorOp>(b.compare(ComparePredicate::lt, zero));
  Expr inexact = rest.compare(ComparePredicate::ne, zero);
  Expr floored = differs.apply<AndOp>(inexact).select(rest + b, rest);
  if (!isFloat)
    return n.set(floored);
  Expr zeroOfSign = b.compare(ComparePredicate::lt, zero).select(rest.splat(-0.0), zero);
  Expr exact = rest.compare(ComparePredicate::eq, zero);
  return n.set(exact.select(zeroOfSign, floored));
}

static LogicalResult importWhere(Node &n) {
  if (failed(n.expect(0, Kind::Bool)) || failed(n.expectSameElement(1, 2)))
    return failure();
  auto operands = n.broadcastOperands(0, 3);
  if (failed(operands))
    return failure();
  return n.set(n.expr((*operands)[0]).select((*operands)[1], (*operands)[2]));
}

static LogicalResult importIdentity(Node &n) {
  if (n.isSequence(0))
    return n.setSequence(n.sequence(0));
  if (n.isDetach() && isa<FloatType>(n.element(0)))
    return n.set(n.detached(n.expr(0u)));
  if (failed(n.set(n.operand(0))))
    return failure();
  if (n.isText(0))
    n.markText(0);
  return success();
}

/// Limits are attributes up to opset 10, and operands from opset 11 on.
static LogicalResult importClip(Node &n) {
  if (failed(n.expect(0, Kind::Number)))
    return failure();
  bool isFloat = isa<FloatType>(n.element(0));
  std::optional<double> low, high;
  if (n.opset() < 11) { // whatever the element type
    constexpr double largest = std::numeric_limits<float>::max();
    low = n.real("min", -largest);
    high = n.real("max", largest);
  }
  for (unsigned i : {1u, 2u}) {
    if (!n.operand(i))
      continue;
    if (failed(n.expectSameElement(0, i)))
      return failure();
    if (n.type(i).getNumElements() != 1)
      return n.error() << "expected a scalar limit, found " << n.describeOperand(i);
    // Above 2^53, an integer limit is not exact in f64, so it stays an operand.
    auto limit = n.tryKnown(i);
    if (limit && (isFloat || std::abs(limit->getFloat(0)) < double(int64_t(1) << 53)))
      (i == 1 ? low : high) = limit->getFloat(0);
  }
  if ((low && std::isnan(*low)) || (high && std::isnan(*high)))
    return n.error() << "expected numbers as limits, found NaN";
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool known = bool(low) == bool(n.operand(1)) && bool(high) == bool(n.operand(2));
  if (known || n.opset() < 11) {
    if (!low && !high)
      return n.set(n.operand(0));
    if (isFloat || (low && high))
      return n.set(n.builder().createOrFold<ClampOp>(
          n.loc(), n.operand(0), n.builder().getF64FloatAttr(low.value_or(-infinity)),
          n.builder().getF64FloatAttr(high.value_or(infinity))));
  }
  Expr x = n.expr(0u);
  auto limit = [&](unsigned i) { return n.broadcast(n.expr(i).reshape({}), n.shape(0)); };
  if (n.operand(1))
    x = x.apply<MaxOp>(limit(1));
  if (n.operand(2))
    x = x.apply<MinOp>(limit(2));
  return n.set(x);
}

static LogicalResult importIsNaN(Node &n) {
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  return n.set(n.expr(0u).compare(ComparePredicate::ne, n.operand(0)));
}

static LogicalResult importIsInf(Node &n) {
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Expr x = n.expr(0u);
  Expr positive = x.compare(ComparePredicate::eq, x.splat(infinity));
  Expr negative = x.compare(ComparePredicate::eq, x.splat(-infinity));
  bool wantsPositive = n.integer("detect_positive", 1),
       wantsNegative = n.integer("detect_negative", 1);
  if (wantsPositive && wantsNegative)
    return n.set(positive.apply<OrOp>(negative));
  if (wantsPositive || wantsNegative)
    return n.set(wantsPositive ? positive : negative);
  return n.set(positive.splat(0));
}

void gradc::addElementwiseOps(OpTable &ops) {
  ops["Neg"] = {unary<NegOp, Kind::Number>, 1, 1};
  ops["Abs"] = {unary<AbsOp, Kind::Number>, 1, 1};
  ops["Sign"] = {unary<SignOp, Kind::Number>, 1, 1};
  ops["Exp"] = {unary<ExpOp, Kind::Float>, 1, 1};
  ops["Log"] = {steep<LogOp>, 1, 1};
  ops["Sqrt"] = {steep<SqrtOp>, 1, 1};
  ops["Reciprocal"] = {steep<ReciprocalOp>, 1, 1};
  ops["Tanh"] = {unary<TanhOp, Kind::Float>, 1, 1};
  ops["Erf"] = {unary<ErfOp, Kind::Float>, 1, 1};
  ops["Floor"] = {unary<FloorOp, Kind::Float>, 1, 1};
  ops["Ceil"] = {unary<CeilOp, Kind::Float>, 1, 1};
  ops["Round"] = {unary<RoundOp, Kind::Float>, 1, 1};
  ops["Not"] = {unary<NotOp, Kind::Bool>, 1, 1};
  ops["Add"] = {binary<AddOp, Kind::Number>, 2, 2};
  ops["Sub"] = {binary<SubOp, Kind::Number>, 2, 2};
  ops["Mul"] = {binary<MulOp, Kind::Number>, 2, 2};
  ops["Div"] = {importDiv, 2, 2};
  ops["Pow"] = {importPow, 2, 2};
  ops["Mod"] = {importMod, 2, 2};
  ops["Max"] = {variadic<MaxOp, Kind::Number>, 1, OnnxOp::any};
  ops["Min"] = {variadic<MinOp, Kind::Number>, 1, OnnxOp::any};
  ops["Sum"] = {variadic<AddOp, Kind::Float>, 1, OnnxOp::any};
  ops["Mean"] = {variadic<AddOp, Kind::Float, /*mean=*/true>, 1, OnnxOp::any};
  ops["And"] = {binary<AndOp, Kind::Bool>, 2, 2};
  ops["Or"] = {binary<OrOp, Kind::Bool>, 2, 2};
  ops["Xor"] = {binary<XorOp, Kind::Bool>, 2, 2};
  ops["BitwiseAnd"] = {binary<AndOp, Kind::Int>, 2, 2};
  ops["BitwiseOr"] = {binary<OrOp, Kind::Int>, 2, 2};
  ops["BitwiseXor"] = {binary<XorOp, Kind::Int>, 2, 2};
  ops["BitwiseNot"] = {unary<NotOp, Kind::Int>, 1, 1};
  ops["BitShift"] = {importBitShift, 2, 2};
  ops["Equal"] = {compare<ComparePredicate::eq, Kind::Any>, 2, 2};
  ops["Less"] = {compare<ComparePredicate::lt, Kind::Number>, 2, 2};
  ops["LessOrEqual"] = {compare<ComparePredicate::le, Kind::Number>, 2, 2};
  ops["Greater"] = {compare<ComparePredicate::gt, Kind::Number>, 2, 2};
  ops["GreaterOrEqual"] = {compare<ComparePredicate::ge, Kind::Number>, 2, 2};
  ops["Where"] = {importWhere, 3, 3};
  ops["Identity"] = {importIdentity, 1, 1, /*sequences=*/1};
  ops["Clip"] = {importClip, 1, 3};
  ops["IsNaN"] = {importIsNaN, 1, 1};
  ops["IsInf"] = {importIsInf, 1, 1};
  for (StringRef name : {"Equal", "Identity"})
    ops[name].strings = true;
  takeNarrow(ops, TakesNarrow::moved, {"Identity", "Where"});
  takeExtents(
      ops, TakesExtents::pointwise,
      {"Neg",        "Abs",      "Sign",       "Exp",         "Log",        "Sqrt",
       "Reciprocal", "Tanh",     "Erf",        "Floor",       "Ceil",       "Round",
       "Not",        "Add",      "Sub",        "Mul",         "Div",        "Pow",
       "Mod",        "Max",      "Min",        "Sum",         "Mean",       "And",
       "Or",         "Xor",      "BitwiseAnd", "BitwiseOr",   "BitwiseXor", "BitwiseNot",
       "BitShift",   "Equal",    "Less",       "LessOrEqual", "Greater",    "GreaterOrEqual",
       "Where",      "Identity", "Clip",       "IsNaN",       "IsInf"});
}
