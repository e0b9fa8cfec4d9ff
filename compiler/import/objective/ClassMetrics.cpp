// Counts of labels and predicted classes.
#include "dialects/Pch.h"

#include "compiler/import/objective/BinaryScores.h"
#include "compiler/import/objective/ClassMetrics.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

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
  predicted.labels = bestClass(rows->scores);
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
static FailureOr<MetricResults> buildOverClasses(SpecValues &v, const spec::ClassMetric &names,
                                                 Location where) {
  auto found = taken(v, names, where);
  if (failed(found))
    return failure();
  auto &[rows, isTaken] = *found;
  Expr isLabel = rows.isLabel();
  return MetricResults{GRADC_ROLE_SUMS,
                       {sumRows(counted(rows, isTaken.apply<AndOp>(isLabel))),
                        sumRows(counted(rows, isTaken)), sumRows(counted(rows, isLabel))}};
}

FailureOr<Scores> gradc::scoresOf(SpecValues &v, StringRef kind, const spec::ClassMetric &names,
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
  FailureOr<bool> isOne = hasOneScore(v, names.logits(), names.labels(), *output, where);
  if (failed(isOne))
    return failure();
  if (!*isOne && !areBinary(v, names.logits(), *output))
    return emitNotOneScore(kind, names.logits(), *output, where);
  return Scores::together;
}

FailureOr<MetricResults> gradc::buildClassMetric(SpecValues &v, StringRef kind,
                                                 const spec::ClassMetric &names, Location where) {
  FailureOr<Scores> are = scoresOf(v, kind, names, where);
  if (failed(are))
    return failure();
  if (*are == Scores::classes)
    return buildOverClasses(v, names, where);
  auto scored = binaryScores(v, names.logits(), names.labels(), ignored(names), where);
  if (failed(scored))
    return failure();
  bool isMacro = *are == Scores::labels;
  if (isMacro)
    scored = scored->labelsLast();
  Expr isTaken = scored->isTaken(), isPositive = scored->isPositive;
  SmallVector<int64_t> dims = leadingDims(isTaken.type().getRank(), /*without=*/isMacro ? 1 : 0);
  auto sum = [&](Expr mask) -> Value {
    return mask.cast(scored->scores.element()).cast(v.getBuilder().getF64Type()).sum(dims);
  };
  return MetricResults{GRADC_ROLE_SUMS,
                       {sum(isTaken.apply<AndOp>(isPositive)), sum(isTaken), sum(isPositive)}};
}

/// Negatives and positives as two classes, with the predicted one for each row.
static FailureOr<std::pair<ClassRows, Expr>>
takenOfTwo(SpecValues &v, const spec::ConfusionMatrix &names, Location where) {
  auto scored = binaryScores(v, names.logits(), names.labels(), ignored(names), where);
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

FailureOr<MetricResults> gradc::buildConfusion(SpecValues &v, const spec::ConfusionMatrix &names,
                                               Location where) {
  FailureOr<Value> output = v.output(names.logits(), where);
  if (failed(output))
    return failure();
  FailureOr<bool> isOne = hasOneScore(v, names.logits(), names.labels(), *output, where);
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
