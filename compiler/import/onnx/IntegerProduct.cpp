// Products and convolutions of quantized tensors, in 32 bits, relative to zero points.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Products.h"
#include "compiler/import/onnx/Quantization.h"

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
static int64_t rowDim(Node &n, unsigned i) { return std::max<int64_t>(n.rank(i) - 2, 0); }
static int64_t columnDim(Node &n, unsigned i) { return std::max<int64_t>(n.rank(i) - 1, 0); }

static LogicalResult importMatMulInteger(Node &n) {
  FailureOr<Expr> lhs = fromZero(n, 0, 2, rowDim(n, 0)), rhs = fromZero(n, 1, 3, columnDim(n, 1));
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

/// The product of the scales divided by the result's scale, times `sum`, saturated. The scale of
/// the lhs runs along dim `lhsDim` of the result, that of the rhs along `rhsDim`.
static LogicalResult requantize(Node &n, Expr sum, int64_t lhsDim, int64_t rhsDim) {
  if (failed(expectQuantized(n, {7, 6, 7})))
    return failure();
  Type f32 = n.builder().getF32Type();
  ArrayRef<int64_t> shape = sum.shape();
  FailureOr<Expr> lhs = spread(n, 1, shape, lhsDim), rhs = spread(n, 4, shape, rhsDim),
                  result = spread(n, 6, shape, lhsDim), zero = spread(n, 7, shape, lhsDim);
  if (failed(lhs) || failed(rhs) || failed(result) || failed(zero))
    return failure();
  Expr scale = lhs->cast(f32) * rhs->cast(f32) / result->cast(f32);
  return n.set(saturate(sum.cast(f32) * scale, *zero, n.element(7)));
}

static LogicalResult importQLinearMatMul(Node &n) {
  if (failed(expectQuantized(n, {0, 1, 2})) || failed(expectQuantized(n, {3, 4, 5})))
    return failure();
  FailureOr<Expr> lhs = fromZero(n, 0, 2, rowDim(n, 0)), rhs = fromZero(n, 3, 5, columnDim(n, 3));
  if (failed(lhs) || failed(rhs))
    return failure();
  FailureOr<Expr> product = numpyMatmul(n, *lhs, *rhs, 0, 3);
  if (failed(product))
    return failure();
  int64_t rank = product->type().getRank();
  return requantize(n, *product, std::max<int64_t>(rank - 2, 0), std::max<int64_t>(rank - 1, 0));
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
  return requantize(n, sum, 1, 1);
}

void gradc::addIntegerProductOps(OpTable &ops) {
  ops["MatMulInteger"] = {importMatMulInteger, 2, 4};
  ops["ConvInteger"] = {importConvInteger, 2, 4};
  ops["QLinearMatMul"] = {importQLinearMatMul, 8, 8};
  ops["QLinearConv"] = {importQLinearConv, 8, 9};
}
