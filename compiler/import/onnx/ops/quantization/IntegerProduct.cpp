// Products and convolutions of quantized tensors, in 32 bits, relative to zero points.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Products.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Operand `i` broadcast to every element: a single number, a vector along dim `dim` of a tensor of
/// `shape`, or a shape that broadcasts to it. A tensor that lacks the dim takes a single number.
static FailureOr<Expr> spread(Node &n, unsigned i, ArrayRef<int64_t> shape, int64_t dim) {
  int64_t size = dim < int64_t(shape.size()) ? shape[dim] : 1;
  RankedTensorType type = RankedTensorType::get(shape, n.element(i));
  if (n.type(i).getNumElements() == 1 && n.rank(i) <= 1)
    return n.expr(i).reshape({}).broadcastScalar(type);
  if (n.rank(i) == 1 && n.shape(i)[0] == size)
    return n.expr(i).broadcast(type, {dim});
  auto common = broadcastShape(n.shape(i), shape);
  if (n.rank(i) > 1 && common && ArrayRef(*common) == shape)
    return n.expr(n.broadcast(n.operand(i), shape));
  return n.error() << "expected one number or " << size << " of them, found "
                   << n.describeOperand(i);
}

/// Operand `i` in 32 bits minus its zero point, operand `point`, which may be missing.
static FailureOr<Expr> fromZero(Node &n, unsigned i, unsigned point, int64_t dim) {
  Type wide = n.builder().getI32Type();
  if (failed(n.expect(i, Kind::Int)))
    return failure();
  Expr x = n.expr(i).cast(wide);
  if (!n.operand(point))
    return x;
  FailureOr<Expr> zero = failure();
  if (succeeded(n.expectSameElement(i, point)))
    zero = spread(n, point, n.shape(i), dim);
  if (failed(zero))
    return failure();
  return x - zero->cast(wide);
}

/// The rows of the lhs and the columns of the rhs each have one zero point (and scale).
static int64_t rowDim(int64_t rank) { return std::max<int64_t>(rank - 2, 0); }
static int64_t columnDim(int64_t rank) { return std::max<int64_t>(rank - 1, 0); }

static LogicalResult importMatMulInteger(Node &n) {
  FailureOr<Expr> lhs = fromZero(n, 0, 2, rowDim(n.rank(0))),
                  rhs = fromZero(n, 1, 3, columnDim(n.rank(1)));
  if (failed(lhs) || failed(rhs))
    return failure();
  FailureOr<Expr> product = numpyMatmul(n, *lhs, *rhs, 0, 1);
  if (failed(product))
    return failure();
  return n.set(*product);
}

static LogicalResult importConvInteger(Node &n) {
  auto read = readConvolution(n);
  FailureOr<Expr> x = fromZero(n, 0, 2, 1), weight = fromZero(n, 1, 3, 0);
  if (failed(read) || failed(x) || failed(weight))
    return failure();
  return n.set(convolve(n, *x, *weight, Value(), read->first, read->second));
}

/// The product of two factors' scales, operands `lhs` and `rhs`, which run along those dims of the
/// result.
static FailureOr<Expr> scaleOf(Node &n, ArrayRef<int64_t> shape, unsigned lhs, int64_t lhsDim,
                               unsigned rhs, int64_t rhsDim) {
  if (failed(n.expect(lhs, Kind::Float)) || failed(n.expect(rhs, Kind::Float)))
    return failure();
  Type f32 = n.builder().getF32Type();
  FailureOr<Expr> first = spread(n, lhs, shape, lhsDim), second = spread(n, rhs, shape, rhsDim);
  if (failed(first) || failed(second))
    return failure();
  return first->cast(f32) * second->cast(f32);
}

/// `sum` times its scale, divided by operand `scale` and relative to the zero point behind it,
/// saturated. Both are one number or run along dim `dim`.
static LogicalResult requantize(Node &n, Expr sum, Expr factor, unsigned scale, int64_t dim) {
  unsigned zeroPoint = scale + 1;
  if (failed(expectQuantized(n, {zeroPoint, scale, zeroPoint})))
    return failure();
  Type f32 = n.builder().getF32Type();
  FailureOr<Expr> step = spread(n, scale, sum.shape(), dim),
                  zero = spread(n, zeroPoint, sum.shape(), dim);
  if (failed(step) || failed(zero))
    return failure();
  Expr y = sum.cast(f32) * (factor / step->cast(f32));
  return n.set(saturate(y, *zero, n.element(zeroPoint)));
}

namespace {
/// A product of codes relative to their zero points, and its scale.
struct ScaledProduct {
  Expr codes, scale;
};
} // namespace

/// A zero point or scale of `lhs` may be one per row, one of `rhs` one per column.
static FailureOr<ScaledProduct> multiply(Node &n, const Quantized &lhs, const Quantized &rhs) {
  FailureOr<Expr> left = fromZero(n, lhs.value, lhs.zeroPoint, rowDim(n.rank(lhs.value))),
                  right = fromZero(n, rhs.value, rhs.zeroPoint, columnDim(n.rank(rhs.value)));
  if (failed(left) || failed(right))
    return failure();
  FailureOr<Expr> product = numpyMatmul(n, *left, *right, lhs.value, rhs.value);
  if (failed(product))
    return failure();
  int64_t rank = product->type().getRank();
  FailureOr<Expr> scale =
      scaleOf(n, product->shape(), lhs.scale, rowDim(rank), rhs.scale, columnDim(rank));
  if (failed(scale))
    return failure();
  return ScaledProduct{*product, *scale};
}

FailureOr<Expr> gradc::multiplyCodes(Node &n, const Quantized &lhs, const Quantized &rhs) {
  if (failed(expectQuantized(n, lhs)) || failed(expectQuantized(n, rhs)))
    return failure();
  FailureOr<ScaledProduct> product = multiply(n, lhs, rhs);
  if (failed(product))
    return failure();
  return product->codes.cast(product->scale.element()) * product->scale;
}

static LogicalResult importQLinearMatMul(Node &n) {
  Quantized lhs{0, 1, 2}, rhs{3, 4, 5};
  if (failed(expectQuantized(n, lhs)) || failed(expectQuantized(n, rhs)))
    return failure();
  FailureOr<ScaledProduct> product = multiply(n, lhs, rhs);
  if (failed(product))
    return failure();
  return requantize(n, product->codes, product->scale, 6, rowDim(product->codes.type().getRank()));
}

/// alpha A' B' + C in integers; without a scale of the result, as floats.
static LogicalResult importQGemm(Node &n) {
  bool transposeLhs = n.integer("transA", 0), transposeRhs = n.integer("transB", 0);
  double alpha = n.real("alpha", 1);
  if (failed(n.expectRank(0, 2)) || failed(n.expectRank(3, 2)) ||
      failed(expectQuantized(n, {0, 1, 2})) || failed(expectQuantized(n, {3, 4, 5})))
    return failure();
  int64_t lhsDepth = n.shape(0)[!transposeLhs], rhsDepth = n.shape(3)[transposeRhs];
  if (lhsDepth != rhsDepth)
    return n.error() << "expected sums over one dim, found " << lhsDepth << " factors of "
                     << n.describeOperand(0) << " and " << rhsDepth << " of "
                     << n.describeOperand(3);
  SmallVector<int64_t> shape{n.shape(0)[transposeLhs], n.shape(3)[!transposeRhs]};
  FailureOr<Expr> lhs = fromZero(n, 0, 2, transposeLhs), rhs = fromZero(n, 3, 5, !transposeRhs);
  if (failed(lhs) || failed(rhs) || failed(n.expectSensible(shape)))
    return failure();
  UnitAttr yes = n.builder().getUnitAttr(), no;
  Expr sum = lhs->with(n.builder().createOrFold<MatmulOp>(
      n.loc(), *lhs, *rhs, transposeLhs ? yes : no, transposeRhs ? yes : no));
  if (n.operand(6)) {
    if (!n.element(6).isSignlessInteger(32))
      return n.error() << "expected a bias of 32-bit integers, found " << n.describeOperand(6);
    FailureOr<Expr> bias = spread(n, 6, shape, 1);
    if (failed(bias))
      return failure();
    sum = sum + *bias;
  }
  FailureOr<Expr> scale = scaleOf(n, shape, 1, 0, 4, 1);
  if (failed(scale))
    return failure();
  Expr factor = alpha == 1 ? *scale : *scale * alpha;
  if (!n.operand(7) && !n.operand(8))
    return n.set(sum.cast(factor.element()) * factor);
  if (!n.operand(7) || !n.operand(8))
    return n.error() << "expected both a scale and a zero point of the result, or none";
  return requantize(n, sum, factor, 7, 0);
}

/// The sum times its scale, plus operand `bias`, which may be missing, in the type of operand
/// `like`.
static LogicalResult setFloats(Node &n, Expr sum, Expr scale, unsigned bias, unsigned like) {
  Expr y = (sum.cast(scale.element()) * scale).cast(n.element(like));
  if (!n.operand(bias))
    return n.set(y);
  FailureOr<Expr> offset = spread(n, bias, y.shape(), columnDim(y.type().getRank()));
  if (failed(n.expectSameElement(like, bias)) || failed(offset))
    return failure();
  return n.set(y + *offset);
}

static LogicalResult importMatMulIntegerToFloat(Node &n) {
  FailureOr<ScaledProduct> product = multiply(n, {0, 2, 4}, {1, 3, 5});
  if (failed(product))
    return failure();
  return setFloats(n, product->codes, product->scale, 6, 2);
}

/// The lhs is quantized to bytes in the run.
static LogicalResult importDynamicQuantizeMatMul(Node &n) {
  FailureOr<DynamicCodes> lhs = quantizeDynamically(n, 0);
  FailureOr<Expr> rhs = fromZero(n, 1, 3, columnDim(n.rank(1)));
  if (failed(lhs) || failed(rhs) || failed(n.expectSameElement(0, 2)))
    return failure();
  Type wide = n.builder().getI32Type();
  Expr codes = lhs->codes.cast(wide);
  codes = codes - lhs->zero.cast(wide).broadcastScalar(codes.type());
  FailureOr<Expr> product = numpyMatmul(n, codes, *rhs, 0, 1);
  if (failed(product))
    return failure();
  FailureOr<Expr> scale = spread(n, 2, product->shape(), columnDim(product->type().getRank()));
  if (failed(scale))
    return failure();
  return setFloats(n, *product, lhs->scale.broadcastScalar(scale->type()) * *scale, 4, 0);
}

static LogicalResult importQLinearConv(Node &n) {
  if (failed(expectQuantized(n, {0, 1, 2})) || failed(expectQuantized(n, {3, 4, 5})))
    return failure();
  auto read = readConvolution(n, /*weight=*/3);
  FailureOr<Expr> x = fromZero(n, 0, 2, 1), weight = fromZero(n, 3, 5, 0);
  if (failed(read) || failed(x) || failed(weight))
    return failure();
  if (n.operand(8) && (!n.element(8).isSignlessInteger(32) || n.rank(8) != 1 ||
                       n.shape(8)[0] != read->first.results()))
    return n.error() << "expected a bias of " << read->first.results() << " 32-bit integers, found "
                     << n.describeOperand(8);
  Expr sum = convolve(n, *x, *weight, n.operand(8), read->first, read->second);
  FailureOr<Expr> scale = scaleOf(n, sum.shape(), 1, 1, 4, 1);
  if (failed(scale))
    return failure();
  return requantize(n, sum, *scale, 6, 1);
}

void gradc::addIntegerProductOps(OpTable &ops) {
  ops["MatMulInteger"] = {importMatMulInteger, 2, 4};
  ops["ConvInteger"] = {importConvInteger, 2, 4};
  ops["QLinearMatMul"] = {importQLinearMatMul, 8, 8};
  ops["QLinearConv"] = {importQLinearConv, 8, 9};
  ops["com.microsoft::QLinearConv"] = {importByChannels<importQLinearConv>, 8, 9};
  ops["com.microsoft::QGemm"] = {importQGemm, 6, 9};
  ops["com.microsoft::MatMulIntegerToFloat"] = {importMatMulIntegerToFloat, 4, 7};
  ops["com.microsoft::DynamicQuantizeMatMul"] = {importDynamicQuantizeMatMul, 3, 5};
}
