// Scores and labels of all samples, of which the runtime computes areas under curves.
#include "dialects/Pch.h"

#include "compiler/import/objective/BinaryScores.h"
#include "compiler/import/objective/ClassMetrics.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

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
static FailureOr<MetricResults> buildAucOverClasses(SpecValues &v, const spec::ClassMetric &names,
                                                    Value output, Location where) {
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

FailureOr<MetricResults> gradc::buildAuc(SpecValues &v, const spec::ClassMetric &names,
                                         Location where) {
  FailureOr<Value> output = v.output(names.logits(), where);
  if (failed(output))
    return failure();
  auto type = cast<RankedTensorType>((*output).getType());
  FailureOr<Scores> are = isOneScore(type) ? Scores::together : scoresOf(v, "auc", names, where);
  if (failed(are))
    return failure();
  if (*are == Scores::classes)
    return buildAucOverClasses(v, names, *output, where);
  auto scored = binaryScores(v, names.logits(), names.labels(), ignored(names), where);
  if (failed(scored))
    return failure();
  if (*are == Scores::labels)
    scored = scored->labelsLast();
  SmallVector<int64_t> shape(scored->scores.shape());
  if (*are == Scores::together) {
    int64_t rows = v.getEntry().batchSize(), count = type.getNumElements();
    shape =
        count == rows ? SmallVector<int64_t>{rows} : SmallVector<int64_t>{rows, count / rows, 1};
  }
  return samples(scored->scores, scored->isPositive, scored->counts, shape);
}
