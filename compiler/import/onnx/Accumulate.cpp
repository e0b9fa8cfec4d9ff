// CumSum and CumProd in log2(n) steps. Each step combines every element with another one, twice as
// far away as in the previous step.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Indices.h"
#include "compiler/import/onnx/Pick.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// x moved by `distance` to higher (`reverse`: lower) indices of `dim`; `value` fills the vacated
/// places.
static Expr shift(Expr x, int64_t dim, int64_t distance, bool reverse, double value) {
  int64_t rank = x.type().getRank();
  SmallVector<int64_t> starts(rank, 0), sizes(x.shape()), ones(rank, 1), low(rank, 0),
      high(rank, 0);
  sizes[dim] -= distance;
  starts[dim] = reverse ? distance : 0;
  (reverse ? high : low)[dim] = distance;
  Value kept = x.getBuilder().createOrFold<SliceOp>(x.getLoc(), x, starts, sizes, ones);
  return padAround(x.with(kept), low, high, value);
}

/// Replaces y[i] by the sum or product of all elements up to y[i].
template <typename Op> static Expr accumulated(Expr y, int64_t dim, bool reverse) {
  for (int64_t distance = 1; distance < y.shape()[dim]; distance *= 2)
    y = y.apply<Op>(shift(y, dim, distance, reverse, std::is_same_v<Op, MulOp> ? 1 : 0));
  return y;
}

Expr gradc::sumBefore(Expr x, int64_t dim) {
  return accumulated<AddOp>(shift(x, dim, 1, /*reverse=*/false, 0), dim, /*reverse=*/false);
}

template <typename Op> static LogicalResult accumulate(Node &n) {
  bool exclusive = n.integer("exclusive", 0), reverse = n.integer("reverse", 0);
  if (failed(n.expect(0, Kind::Number)))
    return failure();
  auto given = n.knownInts(1, "the axis");
  if (failed(given))
    return failure();
  if (given->size() != 1)
    return n.error() << "expected one axis, found " << n.describeOperand(1);
  FailureOr<int64_t> dim = n.axis(given->front(), n.rank(0));
  if (failed(dim))
    return failure();
  Expr y = n.expr(0u);
  if (isa<FloatType>(n.element(0)) && n.element(0).getIntOrFloatBitWidth() < 32)
    y = y.cast(n.builder().getF32Type());
  if (exclusive && n.shape(0)[*dim] > 0)
    y = shift(y, *dim, 1, reverse, std::is_same_v<Op, MulOp> ? 1 : 0);
  return n.set(accumulated<Op>(y, *dim, reverse).cast(n.element(0)));
}

void gradc::addAccumulateOps(OpTable &ops) {
  ops["CumSum"] = {accumulate<AddOp>, 2, 2};
  ops["CumProd"] = {accumulate<MulOp>, 2, 2};
}
