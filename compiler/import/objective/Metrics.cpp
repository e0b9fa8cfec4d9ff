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

namespace {
/// Scores that are each a yes or no, and whether each belongs to a positive, all of one shape.
struct BinaryScores {
  Expr scores, isPositive;
  std::optional<Expr> counts; ///< which labels are not ignored; without it all count

  /// The predictions above 0 that count.
  Expr isTaken() const {
    Expr isAbove = scores.compare(ComparePredicate::gt, scores.splat(0));
    return counts ? isAbove.apply<AndOp>(*counts) : isAbove;
  }
};

/// How a metric takes several scores: as those of classes, one of which is right; as labels, each
/// with a metric of its own; or as labels that are counted together.
enum class Scores { classes, labels, together };
} // namespace

static FailureOr<BinaryScores> binary(SpecValues &v, StringRef logits, StringRef labels,
                                      std::optional<int64_t> ignore, Location where) {
  FailureOr<Value> scores = v.scores(logits, /*sigmoid=*/true, where);
  if (failed(scores))
    return failure();
  FailureOr<Expr> y = v.targets(labels, *scores, logits, where);
  if (failed(y))
    return failure();
  BinaryScores found{v.expr(*scores), y->compare(ComparePredicate::gt, y->splat(0.5)),
                     std::nullopt};
  if (ignore) {
    Expr counts = y->compare(ComparePredicate::ne, y->splat(double(*ignore)));
    found.isPositive = found.isPositive.apply<AndOp>(counts);
    found.counts = counts;
  }
  return found;
}

/// Whether a loss takes each score of the output as a yes or no.
static bool isBinary(const spec::Loss &loss, StringRef logits) {
  if (loss.has_binary_cross_entropy())
    return logits == loss.binary_cross_entropy().logits();
  if (loss.has_focal())
    return !loss.focal().targets().empty() && logits == loss.focal().logits();
  return loss.has_hinge() && !loss.hinge().targets().empty() && logits == loss.hinge().logits();
}

/// Whether each score of an output is a yes or no, as with several labels a sample, or one a pixel:
/// a final sigmoid or a loss says so.
static bool areBinary(SpecValues &v, StringRef logits, Value output) {
  if (output.getDefiningOp<SigmoidOp>())
    return true;
  const spec::Training &training = v.getSpec().get();
  auto takes = [&](const spec::Loss &loss) { return isBinary(loss, logits); };
  return llvm::any_of(training.loss(), takes) ||
         llvm::any_of(training.train(),
                      [&](const spec::Train &kind) { return llvm::any_of(kind.loss(), takes); });
}

/// The type of the labels of scores: the field's, which may have an element per score instead of
/// one per sample.
static FailureOr<RankedTensorType> typeOfLabels(SpecValues &v, StringRef labels,
                                                RankedTensorType scores, Location where) {
  auto single = RankedTensorType::get(scores.getShape().drop_back(), v.getBuilder().getI64Type());
  FailureOr<Value> field = v.field(labels, single, labels, where);
  if (failed(field))
    return failure();
  return cast<RankedTensorType>((*field).getType());
}

/// Whether an output has one score a sample, or one a pixel in a channel of its own: a loss says
/// so, or labels without a dim of classes. More scores are those of classes, even if a loss takes
/// each by itself.
static FailureOr<bool> hasOneScore(SpecValues &v, const auto &names, Value output, Location where) {
  auto type = cast<RankedTensorType>(output.getType());
  if (isOneScore(type))
    return true;
  bool isColumn = type.getRank() > 2 && type.getShape().back() == 1;
  if (!isColumn && (type.getRank() <= 2 || type.getDimSize(1) != 1))
    return false;
  if (areBinary(v, names.logits(), output))
    return true;
  FailureOr<RankedTensorType> labels = typeOfLabels(v, names.labels(), type, where);
  if (failed(labels))
    return failure();
  // [batch, 1, classes] with floats of the same shape are distributions over classes.
  return labels->getNumElements() == type.getNumElements() &&
         (isColumn || type.getRank() > 3 || isa<IntegerType>(labels->getElementType()));
}

static InFlightDiagnostic emitNotOneScore(StringRef kind, StringRef logits, Value output,
                                          Location where) {
  return emitError(where) << kind << " is of one score a sample, found \"" << logits << "\", "
                          << describe(cast<RankedTensorType>(output.getType()))
                          << "; average: MACRO takes the mean over classes";
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

/// Whether each score has a label of its own, instead of one label for the scores of all classes.
static FailureOr<bool> isMultiLabel(SpecValues &v, const spec::ClassMetric &names, Location where) {
  FailureOr<Value> output = v.output(names.logits(), where);
  if (failed(output))
    return failure();
  auto type = cast<RankedTensorType>((*output).getType());
  if (type.getRank() < 2 || !areBinary(v, names.logits(), *output))
    return false;
  FailureOr<RankedTensorType> labels = typeOfLabels(v, names.labels(), type, where);
  if (failed(labels))
    return failure();
  return type.getShape().back() > 1 && labels->getNumElements() == type.getNumElements();
}

/// Counts per class, of the best class of each row.
static Built buildOverClasses(SpecValues &v, const spec::ClassMetric &names, Location where) {
  auto found = taken(v, names, where);
  if (failed(found))
    return failure();
  auto &[rows, isTaken] = *found;
  Expr isLabel = rows.isLabel();
  return MetricResults{GRADC_ROLE_SUMS,
                       {sumRows(counted(rows, isTaken.apply<AndOp>(isLabel))),
                        sumRows(counted(rows, isTaken)), sumRows(counted(rows, isLabel))}};
}

/// How a metric takes the scores of an output.
static FailureOr<Scores> scoresOf(SpecValues &v, StringRef kind, const spec::ClassMetric &names,
                                  Location where) {
  if (names.average() == spec::MACRO) {
    FailureOr<bool> areLabels = isMultiLabel(v, names, where);
    if (failed(areLabels))
      return failure();
    return *areLabels ? Scores::labels : Scores::classes;
  }
  FailureOr<Value> output = v.output(names.logits(), where);
  if (failed(output))
    return failure();
  FailureOr<bool> isOne = hasOneScore(v, names, *output, where);
  if (failed(isOne))
    return failure();
  if (!*isOne && !areBinary(v, names.logits(), *output))
    return emitNotOneScore(kind, names.logits(), *output, where);
  return Scores::together;
}

/// Counts of true positives, predictions, and labels of the class: scalars, or one element per
/// class.
static Built buildClassMetric(SpecValues &v, StringRef kind, const spec::ClassMetric &names,
                              Location where) {
  FailureOr<Scores> are = scoresOf(v, kind, names, where);
  if (failed(are))
    return failure();
  if (*are == Scores::classes)
    return buildOverClasses(v, names, where);
  auto scored = binary(v, names.logits(), names.labels(), ignored(names), where);
  if (failed(scored))
    return failure();
  bool isMacro = *are == Scores::labels;
  Expr isTaken = scored->isTaken(), isPositive = scored->isPositive;
  SmallVector<int64_t> dims = leadingDims(isTaken.type().getRank(), /*without=*/isMacro ? 1 : 0);
  auto sum = [&](Expr mask) -> Value {
    return mask.cast(scored->scores.element()).cast(v.getBuilder().getF64Type()).sum(dims);
  };
  return MetricResults{GRADC_ROLE_SUMS,
                       {sum(isTaken.apply<AndOp>(isPositive)), sum(isTaken), sum(isPositive)}};
}

/// Scores, and 1 for positives, 0 for negatives and -1 for what does not count, as tensors of
/// `shape`, whose first dim is the batch.
static MetricResults samples(Expr scores, Expr isPositive, std::optional<Expr> counts,
                             ArrayRef<int64_t> shape) {
  Type f32 = scores.getBuilder().getF32Type();
  Expr x = scores.cast(f32);
  Expr labels = isPositive.select(x.splat(1), x.splat(0));
  if (counts)
    labels = counts->select(labels, labels.splat(-1));
  return {GRADC_ROLE_SAMPLES, {x.reshape(shape), labels.reshape(shape)}};
}

/// Of the probability of each class: its logarithm has the same order, and is not rounded to 1.
static Built buildAucOverClasses(SpecValues &v, const spec::ClassMetric &names, Value output,
                                 Location where) {
  FailureOr<ClassRows> rows = v.classRows(names.logits(), names.labels(), ignored(names), where);
  if (failed(rows))
    return failure();
  OpBuilder &b = v.getBuilder();
  Expr x = rows->scores.wide();
  if (!areBinary(v, names.logits(), output))
    x = x.with(b.createOrFold<LogSoftmaxOp>(x.getLoc(), x, b.getI64IntegerAttr(1)));
  Expr isLabel = rows->isLabel();
  std::optional<Expr> counts;
  if (rows->counts)
    counts = rows->counts->broadcast(isLabel.type(), {0});
  SmallVector<int64_t> shape{v.getEntry().batchSize()};
  if (int64_t places = x.shape()[0] / shape[0]; places > 1)
    shape.push_back(places);
  shape.push_back(rows->classes());
  return samples(x, isLabel, counts, shape);
}

/// The score and label of each sample. More than one dim: the last one is that of the classes.
static Built buildAuc(SpecValues &v, const spec::ClassMetric &names, Location where) {
  FailureOr<Value> output = v.output(names.logits(), where);
  if (failed(output))
    return failure();
  auto type = cast<RankedTensorType>((*output).getType());
  FailureOr<Scores> are = isOneScore(type) ? Scores::together : scoresOf(v, "auc", names, where);
  if (failed(are))
    return failure();
  if (*are == Scores::classes)
    return buildAucOverClasses(v, names, *output, where);
  auto scored = binary(v, names.logits(), names.labels(), ignored(names), where);
  if (failed(scored))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  if (*are == Scores::together) {
    int64_t rows = v.getEntry().batchSize(), count = type.getNumElements();
    shape =
        count == rows ? SmallVector<int64_t>{rows} : SmallVector<int64_t>{rows, count / rows, 1};
  }
  return samples(scored->scores, scored->isPositive, scored->counts, shape);
}

/// Negatives and positives as two classes, with the predicted one for each row.
static FailureOr<std::pair<ClassRows, Expr>>
takenOfTwo(SpecValues &v, const spec::ConfusionMatrix &names, Location where) {
  auto scored = binary(v, names.logits(), names.labels(), ignored(names), where);
  if (failed(scored))
    return failure();
  Expr x = scored->scores;
  int64_t rows = x.type().getNumElements();
  auto classes = [&](Expr mask) { return mask.cast(v.getBuilder().getI64Type()).reshape({rows}); };
  Expr both =
      x.reshape({rows}).broadcast(RankedTensorType::get({rows, 2}, x.element()), /*dims=*/{0});
  ClassRows labels{both, classes(scored->isPositive), std::nullopt, v.argument(names.labels())};
  if (scored->counts)
    labels.counts = scored->counts->reshape({rows});
  ClassRows predicted = labels;
  predicted.labels = classes(scored->isTaken());
  return std::pair(labels, predicted.isLabel());
}

/// Counts [labels, predicted classes].
static Built buildConfusion(SpecValues &v, const spec::ConfusionMatrix &names, Location where) {
  FailureOr<Value> output = v.output(names.logits(), where);
  if (failed(output))
    return failure();
  FailureOr<bool> isOne = hasOneScore(v, names, *output, where);
  if (failed(isOne))
    return failure();
  auto found = *isOne ? takenOfTwo(v, names, where) : taken(v, names, where);
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

/// The share of labels that the sign of their score tells.
static Built buildBinaryAccuracy(SpecValues &v, const spec::Accuracy &names, Location where) {
  auto scored = binary(v, names.logits(), names.labels(), ignored(names), where);
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
  FailureOr<bool> isOne = hasOneScore(v, names, *result, where);
  if (failed(isOne))
    return failure();
  if (*isOne)
    return buildBinaryAccuracy(v, names, where);
  if (names.has_ignore_index()) {
    FailureOr<ClassRows> rows = v.classRows(names.logits(), names.labels(), ignored(names), where);
    if (failed(rows))
      return failure();
    Expr hits = best(rows->scores).compare(ComparePredicate::eq, rows->labels);
    return overCounted(v, *rows, hits.cast(rows->scores.element()));
  }
  FailureOr<Value> scores = v.classScores(names.logits(), names.labels(), where);
  FailureOr<Value> target =
      failed(scores) ? FailureOr<Value>() : v.labels(names.labels(), *scores, where);
  if (failed(target))
    return failure();
  Expr y = v.expr(*target);
  if (isa<FloatType>(y.element()))
    y = best(y);
  Type i64 = v.getBuilder().getI64Type();
  Expr hits = best(v.expr(*scores)).compare(ComparePredicate::eq, y.cast(i64));
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
