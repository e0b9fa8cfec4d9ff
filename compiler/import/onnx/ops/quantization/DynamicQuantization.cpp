// DynamicQuantizeLinear, whose scale is that of the values themselves, and products with its codes.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/quantization/Quantization.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

ZeroRange gradc::rangeWithZero(Expr x) {
  OpBuilder &b = x.getBuilder();
  SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, x.type().getRank()));
  Expr high = all.empty() ? x : x.with(b.createOrFold<ReduceMaxOp>(x.getLoc(), x, all));
  Expr low = all.empty() ? x : x.with(b.createOrFold<ReduceMinOp>(x.getLoc(), x, all));
  high = high.apply<MaxOp>(high.splat(0));
  return {low.apply<MinOp>(low.splat(0)), high};
}

DynamicCodes gradc::quantizeDynamically(Expr x) {
  auto [low, high] = rangeWithZero(x);
  Expr scale = (high - low) / 255.0;
  Type byte = x.getBuilder().getIntegerType(8, /*isSigned=*/false);
  Expr zero = (-low / scale).apply<RoundOp>().cast(byte);
  Expr quotient = x / scale.broadcastScalar(x.type());
  Expr codes = saturate(quotient, zero.broadcastScalar(x.type().clone(byte)), byte);
  return {codes, scale, zero};
}

FailureOr<DynamicCodes> gradc::quantizeDynamically(Node &n, unsigned i) {
  if (failed(n.expect(i, Kind::Float)))
    return failure();
  if (n.type(i).getNumElements() == 0)
    return n.error() << "expected elements, found " << n.describeOperand(i);
  return quantizeDynamically(n.expr(i));
}

Expr gradc::multiplyDynamically(Expr x, const CodedMatrix &weights) {
  OpBuilder &b = x.getBuilder();
  auto spread = [](Expr value, RankedTensorType type) {
    return value.shape().empty() ? value.broadcastScalar(type) : value.broadcast(type, {1});
  };
  DynamicCodes lhs = quantizeDynamically(x);
  Expr left = lhs.codes.cast(b.getI32Type()), right = weights.codes.cast(b.getI32Type());
  left = left - lhs.zero.cast(b.getI32Type()).broadcastScalar(left.type());
  if (weights.zero)
    right = right - spread(weights.zero->cast(b.getI32Type()), right.type());
  Expr sum = x.with(
      b.createOrFold<MatmulOp>(x.getLoc(), left, right, /*transpose_lhs=*/UnitAttr(), UnitAttr()));
  Expr scale = lhs.scale.broadcastScalar(weights.scale.type()) * weights.scale;
  sum = sum.cast(x.element());
  return sum * spread(scale, sum.type());
}

static LogicalResult importDynamicQuantizeLinear(Node &n) {
  FailureOr<DynamicCodes> made = quantizeDynamically(n, 0);
  if (failed(made))
    return failure();
  (void)n.set(1, made->scale);
  (void)n.set(2, made->zero);
  return n.set(made->codes);
}

void gradc::addDynamicQuantizationOps(OpTable &ops) {
  ops["DynamicQuantizeLinear"] = {importDynamicQuantizeLinear, 1, 1};
}
