// CumSum and CumProd.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

Expr gradc::sumBefore(Expr x, int64_t dim) {
  return x.with(x.getBuilder().createOrFold<CumulativeOp>(x.getLoc(), x.get(), CumulativeKind::sum,
                                                          dim, /*exclusive=*/true,
                                                          /*reverse=*/false));
}

template <CumulativeKind kind> static LogicalResult accumulate(Node &n) {
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
  return n.set(n.builder().createOrFold<CumulativeOp>(n.loc(), n.operand(0), kind, *dim, exclusive,
                                                      reverse));
}

void gradc::addAccumulateOps(OpTable &ops) {
  ops["CumSum"] = {accumulate<CumulativeKind::sum>, 2, 2};
  ops["CumProd"] = {accumulate<CumulativeKind::prod>, 2, 2};
}
