// Counts and sums that determine metrics over any number of batches exactly.
#include "dialects/Pch.h"

#include "compiler/import/objective/Metrics.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

using Built = FailureOr<MetricResults>;

/// Sums over the first dim in f64: counts are exact, and differences of large sums keep digits.
static Value sumRows(Expr x) { return x.cast(x.getBuilder().getF64Type()).sum({0}); }

static Value sumElements(Expr x) {
  return x.cast(x.getBuilder().getF64Type()).sum(leadingDims(x.type().getRank()));
}

/// The number of elements of a field, as f64.
static Value countOf(SpecValues &v, Expr x, Value field) {
  auto type = cast<RankedTensorType>(field.getType());
  OpBuilder &b = v.getBuilder();
  return x.with(CountOp::create(b, x.getLoc(), field, leadingDims(type.getRank()), IntegerAttr()))
      .cast(b.getF64Type());
}

/// The class with the highest score in each row.
static Expr best(Expr x) {
  OpBuilder &b = x.getBuilder();
  IntegerAttr dim = b.getI64IntegerAttr(x.type().getRank() - 1);
  return x.with(b.createOrFold<ArgmaxOp>(x.getLoc(), x, dim));
}

static bool isOneScore(RankedTensorType type) {
  return type.getRank() == 1 || (type.getRank() == 2 && type.getDimSize(1) == 1);
}

template <typename Names> static std::optional<int64_t> ignored(const Names &names) {
  return names.has_ignore_index() ? std::optional(names.ignore_index()) : std::nullopt;
}

/// Scores, and whether each belongs to a positive, both [N].
static FailureOr<std::pair<Expr, Expr>> binary(SpecValues &v, StringRef kind, StringRef logits,
                                               StringRef labels, bool hasAverage, Location where) {
  FailureOr<Value> scores = v.scores(logits, /*sigmoid=*/true, where);
  if (failed(scores))
    return failure();
  auto type = cast<RankedTensorType>((*scores).getType());
  if (!isOneScore(type)) {
    auto error = emitError(where) << kind << " is of one score a sample, found \"" << logits
                                  << "\", " << describe(type);
    if (hasAverage)
      error << "; average: MACRO takes the mean over classes";
    return error;
  }
  FailureOr<Expr> y = v.targets(labels, *scores, logits, where);
  if (failed(y))
    return failure();
  int64_t rows = type.getNumElements();
  Expr x = v.expr(*scores).reshape({rows});
  return std::pair(x, y->reshape({rows}).compare(ComparePredicate::gt, x.splat(0.5)));
}

/// Rows whose label counts, and the class predicted for each row.
static FailureOr<std::pair<ClassRows, Expr>> taken(SpecValues &v, const auto &names,
                                                   Location where) {
  FailureOr<ClassRows> rows = v.classRows(names.logits(), names.labels(), ignored(names), where);
  if (failed(rows))
    return failure();
  ClassRows predicted = *rows;
  predicted.labels = best(rows->scores);
  return std::pair(*rows, predicted.isLabel());
}

/// A mask of [rows, classes] as numbers, with 0 in rows that do not count.
static Expr counted(const ClassRows &rows, Expr mask) {
  Expr ones = rows.ones().broadcast(rows.scores.type(), {0});
  return mask.select(ones, ones.splat(0));
}

/// Counts of true positives, predictions, and labels of the class: scalars, or one element per
/// class.
static Built buildClassMetric(SpecValues &v, StringRef kind, const spec::ClassMetric &names,
                              Location where) {
  if (names.average() == spec::MACRO) {
    auto found = taken(v, names, where);
    if (failed(found))
      return failure();
    auto &[rows, isTaken] = *found;
    Expr isLabel = rows.isLabel();
    return MetricResults{GRADC_ROLE_SUMS,
                         {sumRows(counted(rows, isTaken.apply<AndOp>(isLabel))),
                          sumRows(counted(rows, isTaken)), sumRows(counted(rows, isLabel))}};
  }
  auto scored = binary(v, kind, names.logits(), names.labels(), /*hasAverage=*/true, where);
  if (failed(scored))
    return failure();
  auto &[x, isPositive] = *scored;
  Expr isTaken = x.compare(ComparePredicate::gt, x.splat(0));
  auto sum = [&](Expr mask) { return sumRows(mask.cast(x.element())); };
  return MetricResults{GRADC_ROLE_SUMS,
                       {sum(isTaken.apply<AndOp>(isPositive)), sum(isTaken), sum(isPositive)}};
}

/// The score and label of each row.
static Built buildAuc(SpecValues &v, const spec::BinaryMetric &names, Location where) {
  auto scored = binary(v, "auc", names.logits(), names.labels(), /*hasAverage=*/false, where);
  if (failed(scored))
    return failure();
  Type f32 = v.getBuilder().getF32Type();
  return MetricResults{GRADC_ROLE_SAMPLES, {scored->first.cast(f32), scored->second.cast(f32)}};
}

/// Counts [labels, predicted classes].
static Built buildConfusion(SpecValues &v, const spec::ConfusionMatrix &names, Location where) {
  auto found = taken(v, names, where);
  if (failed(found))
    return failure();
  auto &[rows, isTaken] = *found;
  OpBuilder &b = v.getBuilder();
  Type f32 = b.getF32Type();
  Expr labels = counted(rows, rows.isLabel()).cast(f32), best = counted(rows, isTaken).cast(f32);
  Expr counts = labels.with(
      b.createOrFold<MatmulOp>(labels.getLoc(), labels, best, b.getUnitAttr(), UnitAttr()));
  return MetricResults{GRADC_ROLE_SUMS, {counts.cast(b.getF64Type())}};
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

/// The share of samples whose best class is the label. With one score per sample, its sign decides.
static Built buildAccuracy(SpecValues &v, const spec::Accuracy &names, Location where) {
  FailureOr<Value> result = v.output(names.logits(), where);
  if (failed(result))
    return failure();
  OpBuilder &b = v.getBuilder();
  auto mean = [&](Expr x) {
    x = x.cast(b.getF32Type());
    SmallVector<int64_t> dims = leadingDims(x.type().getRank());
    return MetricResults{GRADC_ROLE_METRIC, {b.createOrFold<ReduceMeanOp>(x.getLoc(), x, dims)}};
  };
  auto full = cast<RankedTensorType>((*result).getType());
  if (isOneScore(full)) {
    Expr x = v.expr(*v.scores(names.logits(), /*sigmoid=*/true, where));
    FailureOr<Expr> y = v.targets(names.labels(), x, names.logits(), where);
    if (failed(y))
      return failure();
    return mean(x.compare(ComparePredicate::gt, x.splat(0))
                    .apply<XorOp>(y->compare(ComparePredicate::le, y->splat(0.5))));
  }
  if (names.has_ignore_index()) {
    FailureOr<ClassRows> rows = v.classRows(names.logits(), names.labels(), ignored(names), where);
    if (failed(rows))
      return failure();
    Expr hits = best(rows->scores).compare(ComparePredicate::eq, rows->labels);
    return overCounted(v, *rows, hits.cast(rows->scores.element()));
  }
  if (failed(v.expectClasses(*result, names.logits(), where)))
    return failure();
  Value scores = *v.scores(names.logits(), /*sigmoid=*/false, where);
  FailureOr<Value> target = v.labels(names.labels(), scores, where);
  if (failed(target))
    return failure();
  Expr y = v.expr(*target);
  if (isa<FloatType>(y.element()))
    y = best(y);
  return mean(best(v.expr(scores)).compare(ComparePredicate::eq, y.cast(b.getI64Type())));
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
