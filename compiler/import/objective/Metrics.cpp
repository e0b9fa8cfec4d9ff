// Counts and sums that determine metrics over any number of batches exactly.
#include "dialects/Pch.h"

#include "compiler/import/objective/BinaryScores.h"
#include "compiler/import/objective/ClassMetrics.h"
#include "compiler/import/objective/Metrics.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

using Built = FailureOr<MetricResults>;

Value gradc::sumRows(Expr x) { return x.cast(x.getBuilder().getF64Type()).sum({0}); }

static Value sumElements(Expr x) {
  return x.cast(x.getBuilder().getF64Type()).sum(leadingDims(x.type().getRank()));
}

static Value meanOf(Expr mask) {
  Expr x = mask.cast(mask.getBuilder().getF32Type());
  return x.getBuilder().createOrFold<ReduceMeanOp>(x.getLoc(), x, leadingDims(x.type().getRank()));
}

/// The number of elements of a field, as f64.
static Value countOf(SpecValues &v, Expr x, Value field) {
  auto type = cast<RankedTensorType>(field.getType());
  OpBuilder &b = v.getBuilder();
  return x.with(CountOp::create(b, x.getLoc(), field, leadingDims(type.getRank()), IntegerAttr()))
      .cast(b.getF64Type());
}

Expr gradc::bestClass(Expr x) {
  OpBuilder &b = x.getBuilder();
  IntegerAttr dim = b.getI64IntegerAttr(x.type().getRank() - 1);
  return x.with(b.createOrFold<ArgmaxOp>(x.getLoc(), x, dim));
}

/// The sum over rows that count, and the number of those rows.
static MetricResults overCounted(SpecValues &v, const ClassRows &rows, Expr x) {
  if (rows.counts)
    x = rows.counts->select(x, x.splat(0));
  return {GRADC_ROLE_SUMS,
          {sumRows(x), rows.counts ? sumRows(rows.ones()) : countOf(v, x, rows.field)}};
}

static Built buildTopK(SpecValues &v, const spec::TopK &names, Location where) {
  FailureOr<ClassRows> rows = v.classRows(names.logits(), names.labels(), ignored(names), where);
  if (failed(rows))
    return failure();
  int64_t k = names.has_k() ? names.k() : 5;
  if (k > rows->classes())
    return emitError(where) << "expected k to be at most the number of classes, " << rows->classes()
                            << ", found " << k;
  Expr x = rows->scores;
  Expr isAbove = x.compare(ComparePredicate::gt, rows->pick(x).broadcast(x.type(), {0}));
  Expr above = isAbove.cast(x.element()).sum({1});
  Expr hits = above.compare(ComparePredicate::lt, above.splat(double(k)));
  return overCounted(v, *rows, hits.cast(x.element()));
}

static Built buildPerplexity(SpecValues &v, const spec::Perplexity &names, Location where) {
  FailureOr<ClassRows> rows = v.classRows(names.logits(), names.labels(), ignored(names), where);
  if (failed(rows))
    return failure();
  Expr x = rows->scores;
  return overCounted(
      v, *rows,
      x.with(v.getBuilder().createOrFold<SoftmaxCrossEntropyOp>(x.getLoc(), x, rows->labels)));
}

/// Sums of |d| or d^2, and the number of targets; for r2, also sums of targets and their squares.
static Built buildErrors(SpecValues &v, const spec::Metric &metric, Location where) {
  const spec::ErrorMetric &names = metric.has_r2() ? metric.r2()
                                   : metric.has_mean_absolute_error()
                                       ? metric.mean_absolute_error()
                                       : metric.root_mean_squared_error();
  FailureOr<Value> predictions = v.output(names.predictions(), where);
  if (failed(predictions))
    return failure();
  FailureOr<Expr> y = v.targets(names.targets(), *predictions, names.predictions(), where);
  if (failed(y))
    return failure();
  Expr wide = y->cast(v.getBuilder().getF64Type());
  Expr difference = v.expr(*predictions).cast(v.getBuilder().getF64Type()) - wide;
  Value count = countOf(v, *y, v.argument(names.targets()));
  if (metric.has_mean_absolute_error())
    return MetricResults{GRADC_ROLE_SUMS, {sumElements(difference.apply<AbsOp>()), count}};
  MetricResults results{GRADC_ROLE_SUMS, {sumElements(difference * difference)}};
  if (metric.has_r2())
    results.values.append({sumElements(wide), sumElements(wide * wide)});
  results.values.push_back(count);
  return results;
}

/// The share of labels that the sign of their score tells.
static Built buildBinaryAccuracy(SpecValues &v, const spec::Accuracy &names, Location where) {
  auto scored = binaryScores(v, names.logits(), names.labels(), ignored(names), where);
  if (failed(scored))
    return failure();
  Expr hits = scored->isTaken().apply<XorOp>(scored->isPositive).apply<NotOp>();
  Type element = scored->scores.element();
  if (!scored->counts)
    return MetricResults{GRADC_ROLE_METRIC, {meanOf(hits)}};
  hits = hits.apply<AndOp>(*scored->counts);
  return MetricResults{
      GRADC_ROLE_SUMS,
      {sumElements(hits.cast(element)), sumElements(scored->counts->cast(element))}};
}

/// The share of samples whose best class is the label. With one score per sample, its sign decides.
static Built buildAccuracy(SpecValues &v, const spec::Accuracy &names, Location where) {
  FailureOr<Value> result = v.output(names.logits(), where);
  if (failed(result))
    return failure();
  FailureOr<bool> isOne = hasOneScore(v, names.logits(), names.labels(), *result, where);
  if (failed(isOne))
    return failure();
  if (*isOne)
    return buildBinaryAccuracy(v, names, where);
  if (names.has_ignore_index()) {
    FailureOr<ClassRows> rows = v.classRows(names.logits(), names.labels(), ignored(names), where);
    if (failed(rows))
      return failure();
    Expr hits = bestClass(rows->scores).compare(ComparePredicate::eq, rows->labels);
    return overCounted(v, *rows, hits.cast(rows->scores.element()));
  }
  FailureOr<Value> scores = v.classScores(names.logits(), names.labels(), where);
  FailureOr<Value> target =
      failed(scores) ? FailureOr<Value>() : v.labels(names.labels(), *scores, where);
  if (failed(target))
    return failure();
  Expr y = v.expr(*target);
  if (isa<FloatType>(y.element()))
    y = bestClass(y);
  Type i64 = v.getBuilder().getI64Type();
  Expr hits = bestClass(v.expr(*scores)).compare(ComparePredicate::eq, y.cast(i64));
  return MetricResults{GRADC_ROLE_METRIC, {meanOf(hits)}};
}

Built gradc::buildMetric(SpecValues &v, int index) {
  const spec::Metric &metric = v.getSpec().get().metric(index);
  std::string kind(metric.GetDescriptor()->FindFieldByNumber(metric.kind_case())->name());
  Location where = v.getSpec().at({{"metric", index}, kind.c_str()});
  switch (metric.kind_case()) {
  case spec::Metric::kAccuracy:
    return buildAccuracy(v, metric.accuracy(), where);
  case spec::Metric::kTopK:
    return buildTopK(v, metric.top_k(), where);
  case spec::Metric::kPrecision:
    return buildClassMetric(v, kind, metric.precision(), where);
  case spec::Metric::kRecall:
    return buildClassMetric(v, kind, metric.recall(), where);
  case spec::Metric::kF1:
    return buildClassMetric(v, kind, metric.f1(), where);
  case spec::Metric::kIou:
    return buildClassMetric(v, kind, metric.iou(), where);
  case spec::Metric::kAuc:
    return buildAuc(v, metric.auc(), where);
  case spec::Metric::kConfusionMatrix:
    return buildConfusion(v, metric.confusion_matrix(), where);
  case spec::Metric::kPerplexity:
    return buildPerplexity(v, metric.perplexity(), where);
  default:
    return buildErrors(v, metric, where);
  }
}
