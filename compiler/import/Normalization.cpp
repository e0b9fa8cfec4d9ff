// Softmax, LogSoftmax, and ONNX's own losses.
#include "dialects/Pch.h"

#include "compiler/import/Node.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Up to opset 12 over all dims from `axis` on, as a matrix; then over one dim.
template <typename Op> static LogicalResult softmax(Node &n) {
  bool flattens = n.opset() < 13;
  FailureOr<int64_t> dim = n.axis(n.integer("axis", flattens ? 1 : -1), n.rank(0));
  if (failed(n.expect(0, Kind::Float)) || failed(dim))
    return failure();
  auto apply = [&](Expr x, int64_t d) {
    return x.with(n.builder().createOrFold<Op>(n.loc(), x, n.builder().getI64IntegerAttr(d)));
  };
  if (!flattens || *dim == n.rank(0) - 1)
    return n.set(apply(n.expr(0u), *dim));
  int64_t rows = 1, columns = 1;
  for (auto [d, size] : llvm::enumerate(n.shape(0)))
    (int64_t(d) < *dim ? rows : columns) *= size;
  return n.set(apply(n.expr(0u).reshape({rows, columns}), 1).reshape(n.shape(0)));
}

/// [N, C, d...] as [N d..., C].
static Expr classesLast(Expr x) {
  SmallVector<int64_t> order{0};
  for (int64_t d = 2; d < x.type().getRank(); ++d)
    order.push_back(d);
  order.push_back(1);
  int64_t classes = x.shape()[1], rows = 1;
  for (auto [d, size] : llvm::enumerate(x.shape()))
    rows *= d == 1 ? 1 : size;
  return (x.type().getRank() > 2 ? x.transpose(order) : x).reshape({rows, classes});
}

/// SoftmaxCrossEntropyLoss from scores, NegativeLogLikelihoodLoss from log-probabilities: which are
/// scores, too, whose log-softmax is themselves; so the latter picks instead of normalizing.
template <bool scores> static LogicalResult crossEntropy(Node &n) {
  StringRef reduction = n.string("reduction", "mean");
  if (n.has("ignore_index"))
    return n.error() << "with ignore_index is not supported";
  if (n.operand(2))
    return n.error() << "with weights is not supported";
  if (failed(n.expect(0, Kind::Float)) || failed(n.expect(1, Kind::Int)))
    return failure();
  SmallVector<int64_t> expected(n.shape(0));
  if (expected.size() < 2 || (expected.erase(expected.begin() + 1), expected != n.shape(1)))
    return n.error() << "expected scores [N, C, ...] and labels [N, ...], found "
                     << n.describeOperand(0) << " and " << n.describeOperand(1);
  Expr x = classesLast(n.expr(0u)), labels = n.expr(1u).reshape({x.shape()[0]});
  Expr loss = x;
  if (scores) {
    loss = x.with(n.builder().createOrFold<SoftmaxCrossEntropyOp>(n.loc(), x, labels));
  } else {
    auto index = RankedTensorType::get(x.shape(), labels.type().getElementType());
    Expr iota = x.with(IotaOp::create(n.builder(), n.loc(), index, 1));
    Expr picked = iota.compare(ComparePredicate::eq, labels.broadcast(index, {0}));
    loss = -picked.select(x, x.splat(0)).sum({1});
  }
  if (n.wants(1)) {
    Expr input = n.expr(0u);
    if (failed(n.set(1, n.builder().createOrFold<LogSoftmaxOp>(n.loc(), input,
                                                               n.builder().getI64IntegerAttr(1)))))
      return failure();
  }
  if (reduction == "none")
    return n.set(loss.reshape(n.shape(1)));
  if (reduction == "sum")
    return n.set(loss.sum({0}));
  if (reduction != "mean")
    return n.error() << "expected reduction \"none\", \"sum\" or \"mean\", found \"" << reduction
                     << "\"";
  return n.set(n.builder().createOrFold<ReduceMeanOp>(n.loc(), loss, ArrayRef<int64_t>{0}));
}

void gradc::addNormalizationOps(OpTable &ops) {
  ops["Softmax"] = {softmax<SoftmaxOp>, 1, 1};
  ops["LogSoftmax"] = {softmax<LogSoftmaxOp>, 1, 1};
  ops["SoftmaxCrossEntropyLoss"] = {crossEntropy<true>, 2, 3};
  ops["NegativeLogLikelihoodLoss"] = {crossEntropy<false>, 2, 3};
}
