// ONNX's own losses of class labels, with class weights and labels to ignore.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Labels.h"
#include "compiler/import/onnx/ops/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// A loss over rows: scores [N, C], one label per row, and the weight of each row (null: 1 each).
struct Rows {
  Expr scores, labels;
  std::optional<Expr> ignored, weights;
};
} // namespace

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

Expr gradc::isLabel(Expr x, Expr labels) {
  auto index = RankedTensorType::get(x.shape(), labels.element());
  Expr iota = x.with(IotaOp::create(x.getBuilder(), x.getLoc(), index, 1));
  return iota.compare(ComparePredicate::eq, labels.broadcast(index, {0}));
}

Expr gradc::pickLabels(Expr x, Expr labels) {
  return isLabel(x, labels).select(x, x.splat(0)).sum({1});
}

/// The elements of x at the labels, which take the place of its `classes`; 0 for a label that is no
/// class. `dims` as in grad.gather.
static Expr gatherLabels(Expr x, Expr labels, ArrayRef<int64_t> dims, int64_t classes) {
  OpBuilder &b = x.getBuilder();
  labels = labels.cast(b.getI64Type());
  Expr picked = x.with(b.createOrFold<GatherOp>(x.getLoc(), x.get(), labels.get(), dims,
                                                allDims(labels.shape().size())));
  Expr isBelow = labels.compare(ComparePredicate::lt, labels.splat(0));
  Expr isAbove = labels.compare(ComparePredicate::ge, labels.splat(double(classes)));
  Expr none = picked.splat(0);
  return isBelow.select(none, isAbove.select(none, picked));
}

/// Whether operand 0 is in memory already. A gather would write scores that the graph computes,
/// which pickLabels selects from as they are computed.
static bool isStored(Node &n) {
  Value scores = n.operand(0);
  while (auto reshape = scores.getDefiningOp<ReshapeOp>())
    scores = reshape->getOperand(0);
  return isa<BlockArgument>(scores);
}

/// The score of each row's label. Where gradients flow, by comparing all classes: the gradient is
/// that comparison, and needs no scatter.
static Expr labelScores(Node &n, Expr scores, Expr labels) {
  if (n.mayDifferentiate() || !isStored(n))
    return pickLabels(scores, labels);
  SmallVector<int64_t> dims{0, -1};
  for (int64_t d = 2; d < n.rank(0); ++d)
    dims.push_back(d - 1);
  return gatherLabels(n.expr(0u), labels.reshape(n.shape(1)), dims, n.shape(0)[1])
      .reshape(labels.shape());
}

/// The rows that a run does not have; none: it has all.
static FailureOr<std::optional<Expr>> rowsBehindExtent(Node &n, Expr labels) {
  auto scores = n.extent(0), own = n.extent(1);
  if (!scores && !own)
    return std::optional<Expr>();
  if (scores && (scores->dim != 0 || n.rank(0) != 2))
    return n.refuseExtent(0);
  if (!scores || !own || scores->count != own->count)
    return n.error() << "expected scores and labels with the same extent that only a run knows, "
                        "found "
                     << n.describeOperand(0) << " and " << n.describeOperand(1);
  Expr all = labels.compare(ComparePredicate::eq, labels);
  Expr none = labels.compare(ComparePredicate::ne, labels);
  return std::optional(n.neutralBehindExtent(1, all, {0}, 0).select(none, all));
}

/// Labels to ignore, and those that a run does not have, become 0 and have weight 0. Other labels
/// have weight 1, or the weight of their class.
static FailureOr<Rows> readRows(Node &n) {
  if (failed(n.expect(0, Kind::Float)) || failed(n.expect(1, Kind::Int)))
    return failure();
  SmallVector<int64_t> expected(n.shape(0));
  if (expected.size() < 2 || (expected.erase(expected.begin() + 1), expected != n.shape(1)))
    return n.error() << "expected scores [N, C, ...] and labels [N, ...], found "
                     << n.describeOperand(0) << " and " << n.describeOperand(1);
  if (n.shape(0)[1] == 0)
    return n.error() << "expected at least one class, found " << n.describeOperand(0);
  Expr scores = classesLast(n.expr(0u)), labels = n.expr(1u).reshape({scores.shape()[0]});
  FailureOr<std::optional<Expr>> behind = rowsBehindExtent(n, labels);
  if (failed(behind))
    return failure();
  Rows rows{scores, labels, *behind, std::nullopt};
  if (n.has("ignore_index")) {
    double index = double(n.integer("ignore_index", 0));
    Expr isIgnored = labels.compare(ComparePredicate::eq, labels.splat(index));
    rows.ignored = rows.ignored ? rows.ignored->apply<OrOp>(isIgnored) : isIgnored;
  }
  if (rows.ignored) {
    Expr zero = labels.splat(0);
    rows.labels = rows.ignored->select(zero, labels);
    auto ones = RankedTensorType::get(labels.shape(), n.element(0));
    rows.weights = labels.with(splat(n.builder(), n.loc(), ones, 1));
  }
  if (n.operand(2)) {
    if (failed(n.expectSameElement(0, 2)))
      return failure();
    if (n.rank(2) != 1 || n.shape(2)[0] != scores.shape()[1])
      return n.error() << "expected one weight for each of " << scores.shape()[1]
                       << " classes, found " << n.describeOperand(2);
    rows.weights = gatherLabels(n.expr(2u), rows.labels, {-1}, scores.shape()[1]);
  }
  if (rows.ignored)
    rows.weights = rows.ignored->select(rows.weights->splat(0), *rows.weights);
  return rows;
}

/// SoftmaxCrossEntropyLoss takes scores, NegativeLogLikelihoodLoss log-probabilities. The latter
/// are scores too, but equal to their own log-softmax, so that loss selects instead of normalizing.
template <bool normalizes> static LogicalResult crossEntropy(Node &n) {
  StringRef reduction = n.string("reduction", "mean");
  FailureOr<Rows> rows = readRows(n);
  if (failed(rows))
    return failure();
  OpBuilder &b = n.builder();
  Expr x = rows->scores;
  Expr loss = normalizes ? x.with(b.createOrFold<SoftmaxCrossEntropyOp>(n.loc(), x, rows->labels))
                         : -labelScores(n, x, rows->labels);
  if (rows->weights)
    loss = loss * *rows->weights;
  if (rows->ignored) // an infinite loss is ignored, too
    loss = rows->ignored->select(loss.splat(0), loss);
  auto extent = n.extent(0);
  if (n.wants(1)) {
    Value logs = b.createOrFold<LogSoftmaxOp>(n.loc(), n.operand(0), b.getI64IntegerAttr(1));
    if (failed(extent ? n.set(1, logs, *extent) : n.set(1, logs)))
      return failure();
  }
  if (reduction == "none")
    return n.setLike(1, loss.reshape(n.shape(1)), 0);
  if (reduction == "sum")
    return n.set(loss.sum({0}));
  if (reduction != "mean")
    return n.error() << "expected reduction \"none\", \"sum\" or \"mean\", found \"" << reduction
                     << "\"";
  if (rows->weights) {
    return n.set((loss.wide().sum({0}) / rows->weights->wide().sum({0})).cast(x.element()));
  }
  return n.set(b.createOrFold<ReduceMeanOp>(n.loc(), loss, ArrayRef<int64_t>{0}));
}

void gradc::addLossOps(OpTable &ops) {
  ops["SoftmaxCrossEntropyLoss"] = {crossEntropy<true>, 2, 3};
  ops["NegativeLogLikelihoodLoss"] = {crossEntropy<false>, 2, 3};
  takeExtents(ops, TakesExtents::itself, {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"});
}
