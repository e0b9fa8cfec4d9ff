// ONNX Runtime's operators on 8-bit codes: dequantized, computed in floats, and quantized again.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/quantization/Quantization.h"
#include "compiler/import/onnx/ops/window/Pooling.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Operand `i`, which is one number, repeated to `shape` in another type.
static FailureOr<Expr> spreadNumber(Node &n, unsigned i, ArrayRef<int64_t> shape, Type element) {
  if (n.type(i).getNumElements() != 1 || n.rank(i) > 1)
    return n.error() << "expected one number as scale and zero point, found "
                     << n.describeOperand(i);
  return n.expr(i).reshape({}).cast(element).broadcastScalar(RankedTensorType::get(shape, element));
}

/// (code - zero point) * scale, in f32; operands value, scale and zero point follow each other.
static FailureOr<Expr> dequantized(Node &n, unsigned value) {
  Quantized q{value, value + 1, value + 2};
  for (unsigned i : {q.value, q.scale})
    if (!n.operand(i))
      return n.error() << "operand " << i << " is missing";
  if (failed(expectQuantized(n, q)))
    return failure();
  OpBuilder &b = n.builder();
  ArrayRef<int64_t> shape = n.shape(value);
  Expr x = n.expr(value);
  if (n.operand(q.zeroPoint)) {
    FailureOr<Expr> zero = spreadNumber(n, q.zeroPoint, shape, b.getI32Type());
    if (failed(zero))
      return failure();
    x = x.cast(b.getI32Type()) - *zero;
  }
  FailureOr<Expr> scale = spreadNumber(n, q.scale, shape, b.getF32Type());
  if (failed(scale))
    return failure();
  return x.cast(b.getF32Type()) * *scale;
}

/// Sets the result to the codes of `x`, relative to operands scale and zero point, which follow
/// each other. Without a zero point, codes have the type of operand `like`.
static LogicalResult setQuantized(Node &n, Expr x, unsigned scale, unsigned like) {
  if (!n.operand(scale))
    return n.error() << "operand " << scale << " is missing";
  unsigned zeroPoint = n.operand(scale + 1) ? scale + 1 : like;
  if (failed(expectQuantized(n, {zeroPoint, scale, zeroPoint})))
    return failure();
  Type element = n.element(zeroPoint);
  FailureOr<Expr> step = spreadNumber(n, scale, x.shape(), x.element());
  FailureOr<Expr> zero = x.splat(0).cast(element);
  if (n.operand(scale + 1))
    zero = spreadNumber(n, scale + 1, x.shape(), element);
  if (failed(step) || failed(zero))
    return failure();
  return n.set(saturate(x / *step, *zero, element));
}

/// Of two tensors, broadcast to their common shape.
template <typename Op> static LogicalResult importBinary(Node &n) {
  constexpr unsigned rhsValue = 3, resultScale = 6;
  FailureOr<Expr> lhs = dequantized(n, 0), rhs = dequantized(n, rhsValue);
  if (failed(lhs) || failed(rhs) || failed(n.expectSameElement(0, rhsValue)))
    return failure();
  auto common = broadcastShape(lhs->shape(), rhs->shape());
  if (!common)
    return n.error() << "expected shapes that broadcast, found " << n.describeOperand(0) << " and "
                     << n.describeOperand(rhsValue);
  Expr x = n.expr(n.broadcast(*lhs, *common)), y = n.expr(n.broadcast(*rhs, *common));
  return setQuantized(n, x.apply<Op>(y), resultScale, 0);
}

/// Elements of two tensors, chosen by operand 0.
static LogicalResult importWhere(Node &n) {
  constexpr unsigned onTrue = 1, onFalse = 4, resultScale = 7;
  FailureOr<Expr> x = dequantized(n, onTrue), y = dequantized(n, onFalse);
  if (failed(x) || failed(y) || failed(n.expect(0, Kind::Bool)) ||
      failed(n.expectSameElement(onTrue, onFalse)))
    return failure();
  auto common = broadcastShape(x->shape(), y->shape());
  if (common)
    common = broadcastShape(n.shape(0), *common);
  if (!common)
    return n.error() << "expected shapes that broadcast, found " << n.describeOperand(0) << ", "
                     << n.describeOperand(onTrue) << " and " << n.describeOperand(onFalse);
  auto spread = [&](Value value) { return n.expr(n.broadcast(value, *common)); };
  Expr chosen = spread(n.operand(0)).select(spread(*x), spread(*y));
  return setQuantized(n, chosen, resultScale, onTrue);
}

/// A function of one tensor and the node's attributes.
template <FailureOr<Expr> (*function)(Node &, Expr)> static LogicalResult importUnary(Node &n) {
  constexpr unsigned resultScale = 3;
  FailureOr<Expr> x = dequantized(n, 0);
  if (failed(x))
    return failure();
  FailureOr<Expr> y = function(n, *x);
  if (failed(y))
    return failure();
  return setQuantized(n, *y, resultScale, 0);
}

static FailureOr<Expr> sigmoid(Node &, Expr x) { return x.apply<SigmoidOp>(); }

static FailureOr<Expr> leakyRelu(Node &n, Expr x) {
  Expr isPositive = x.compare(ComparePredicate::gt, x.splat(0));
  return isPositive.select(x, x * n.real("alpha", 0.01f));
}

/// Attribute `opset` is that of the Softmax that was quantized: up to 12, it has all dims from
/// `axis` on.
static FailureOr<Expr> softmax(Node &n, Expr x) {
  int64_t opset = n.integer("opset", n.opset());
  FailureOr<int64_t> dim = n.axis(n.integer("axis", -1), n.rank(0));
  if (failed(dim))
    return failure();
  if (n.type(0).getNumElements() == 0)
    return n.error() << "expected elements, found " << n.describeOperand(0);
  auto apply = [&](Expr rows, int64_t d) {
    return x.with(
        n.builder().createOrFold<SoftmaxOp>(n.loc(), rows, n.builder().getI64IntegerAttr(d)));
  };
  constexpr int64_t oneDimFrom = 13;
  if (opset >= oneDimFrom)
    return apply(x, *dim);
  int64_t rows = llvm::product_of(x.shape().take_front(*dim)),
          columns = llvm::product_of(x.shape().drop_front(*dim));
  return apply(x.reshape({rows, columns}), 1).reshape(n.shape(0));
}

/// Unlike AveragePool, ONNX Runtime divides by the whole window with count_include_pad.
static FailureOr<Expr> averageOfWindows(Node &n, Expr x) {
  return averageWindows(n, x, CountedPads::widened);
}

static FailureOr<Expr> averageOfAll(Node &n, Expr x) {
  int64_t rank = n.rank(0);
  if (rank < 3 || llvm::is_contained(n.shape(0).drop_front(2), 0))
    return n.error() << "expected rank 3 or more and elements to pool, found "
                     << n.describeOperand(0);
  SmallVector<int64_t> shape(n.shape(0));
  std::fill(shape.begin() + 2, shape.end(), 1);
  Value mean = n.builder().createOrFold<ReduceMeanOp>(n.loc(), x,
                                                      llvm::to_vector(llvm::seq<int64_t>(2, rank)));
  return x.with(mean).reshape(shape);
}

/// Tensors with scales and zero points of their own; those of the result come first.
static LogicalResult importConcat(Node &n) {
  constexpr unsigned first = 2, operandsEach = 3;
  if (n.operandCount() % operandsEach != first)
    return n.error() << "expected a scale and a zero point for each tensor, found "
                     << n.operandCount() << " operands";
  int64_t rank = n.rank(first);
  FailureOr<int64_t> dim = n.axis(n.integer("axis", 1), rank);
  if (failed(dim))
    return failure();
  SmallVector<Value> parts;
  SmallVector<int64_t> result(n.shape(first));
  result[*dim] = 0;
  for (unsigned i = first; i < n.operandCount(); i += operandsEach) {
    FailureOr<Expr> part = dequantized(n, i);
    if (failed(part) || failed(n.expectRank(i, rank)))
      return failure();
    for (int64_t d = 0; d < rank; ++d)
      if (d != *dim && part->shape()[d] != result[d])
        return n.error() << "expected shapes that agree but in dim " << *dim << ", found "
                         << n.describeOperand(first) << " and " << n.describeOperand(i);
    result[*dim] += part->shape()[*dim];
    parts.push_back(*part);
  }
  if (failed(n.expectSensible(result)))
    return failure();
  Value joined = concatenate(n.builder(), n.loc(), parts, *dim);
  return setQuantized(n, n.expr(joined), 0, first);
}

void gradc::addQLinearOps(OpTable &ops) {
  auto add = [&](StringRef name, OnnxOp op) { ops[("com.microsoft::QLinear" + name).str()] = op; };
  // Zero points may be missing among the first operands.
  add("Add", {importBinary<AddOp>, 2, 8});
  add("Mul", {importBinary<MulOp>, 2, 8});
  add("Where", {importWhere, 8, 9});
  add("Sigmoid", {importUnary<sigmoid>, 2, 5});
  add("LeakyRelu", {importUnary<leakyRelu>, 2, 5});
  add("Softmax", {importUnary<softmax>, 2, 5});
  add("AveragePool", {importByChannels<importUnary<averageOfWindows>>, 2, 5});
  add("GlobalAveragePool", {importByChannels<importUnary<averageOfAll>>, 2, 5});
  add("Concat", {importConcat, 5, OnnxOp::any});
}
