// CumSum and CumProd in log2(n) steps, each of which combines every element with the one twice as
// far away as in the step before.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Pick.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// x moved by `distance` to higher (`reverse`: lower) indices of `dim`; `value` moves in.
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

template <typename Op> static LogicalResult accumulate(Node &n) {
  constexpr double neutral = std::is_same_v<Op, MulOp> ? 1 : 0;
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
  int64_t size = n.shape(0)[*dim];
  Expr y = n.expr(0u);
  if (isa<FloatType>(n.element(0)) && n.element(0).getIntOrFloatBitWidth() < 32)
    y = y.cast(n.builder().getF32Type());
  if (exclusive && size > 0)
    y = shift(y, *dim, 1, reverse, neutral);
  for (int64_t distance = 1; distance < size; distance *= 2)
    y = y.apply<Op>(shift(y, *dim, distance, reverse, neutral));
  return n.set(y.cast(n.element(0)));
}

void gradc::addAccumulateOps(OpTable &ops) {
  ops["CumSum"] = {accumulate<AddOp>, 2, 2};
  ops["CumProd"] = {accumulate<MulOp>, 2, 2};
}
