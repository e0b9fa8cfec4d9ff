// Class losses: cross-entropies, focal, Kullback-Leibler, hinge.
#include "dialects/Pch.h"

#include "compiler/import/objective/Loss.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// One weight per class, broadcast to every row.
static FailureOr<Expr> classWeights(Expr scores, const spec::SoftmaxCrossEntropy &loss,
                                    Location where) {
  int64_t classes = scores.shape()[1];
  if (loss.class_weight_size() != classes)
    return emitError(where) << "expected one class_weight for each of " << classes
                            << " classes, found " << loss.class_weight_size();
  HostTensor weights(RankedTensorType::get({classes}, scores.element()));
  for (auto [i, weight] : llvm::enumerate(loss.class_weight()))
    weights.setFloat(int64_t(i), weight);
  Expr row = scores.with(constant(scores.getBuilder(), scores.getLoc(), weights));
  return row.broadcast(scores.type(), {1});
}

/// The loss of each row, [rows]; labels are integers [rows] or distributions [rows, classes].
static Expr crossEntropy(Expr scores, Expr labels) {
  return scores.with(
      scores.getBuilder().createOrFold<SoftmaxCrossEntropyOp>(scores.getLoc(), scores, labels));
}

/// Losses for distributions as labels. Label smoothing and class weights change the distributions;
/// the mean is still over rows.
static FailureOr<ElementLosses> ofDistributions(SpecValues &v,
                                                const spec::SoftmaxCrossEntropy &loss, Expr scores,
                                                Value argument, Location where) {
  auto type = cast<RankedTensorType>(argument.getType());
  v.getEntry().setClasses(argument, scores.shape()[1]);
  Expr y = scores.with(argument).cast(scores.element()).reshape(scores.shape());
  if (double share = loss.label_smoothing())
    y = y * (1 - share) + share / double(scores.shape()[1]);
  if (loss.class_weight_size()) {
    FailureOr<Expr> weights = classWeights(scores, loss, where);
    if (failed(weights))
      return failure();
    y = y * *weights;
  }
  SmallVector<int64_t> dims = leadingDims(type.getRank(), 1);
  return ElementLosses{crossEntropy(scores, y), std::nullopt, argument, dims};
}

FailureOr<ElementLosses> gradc::buildSoftmaxCrossEntropy(SpecValues &v,
                                                         const spec::SoftmaxCrossEntropy &loss,
                                                         Location where) {
  FailureOr<Value> result = v.classScores(loss.logits(), loss.labels(), where);
  if (failed(result))
    return failure();
  if (!loss.has_ignore_index()) {
    FailureOr<Value> target = v.labels(loss.labels(), *result, where);
    if (failed(target))
      return failure();
    Expr scores = v.expr(*result);
    int64_t classes = scores.shape().back();
    if (isa<FloatType>(getElementTypeOrSelf(*target)))
      return ofDistributions(v, loss,
                             scores.reshape({scores.type().getNumElements() / classes, classes}),
                             v.argument(loss.labels()), where);
  }
  std::optional<int64_t> ignore;
  if (loss.has_ignore_index())
    ignore = loss.ignore_index();
  FailureOr<ClassRows> rows = v.classRows(loss.logits(), loss.labels(), ignore, where);
  if (failed(rows))
    return failure();
  Expr x = rows->scores;
  bool isWeighted = loss.class_weight_size() || rows->counts;
  Expr weights = rows->ones(), losses = x;
  if (double share = loss.label_smoothing()) {
    double rest = share / double(rows->classes());
    Expr y = rows->isLabel().select(x.splat(1 - share + rest), x.splat(rest));
    if (loss.class_weight_size()) {
      FailureOr<Expr> each = classWeights(x, loss, where);
      if (failed(each))
        return failure();
      weights = weights * rows->pick(*each);
      y = y * *each;
    }
    losses = crossEntropy(x, y);
  } else {
    losses = crossEntropy(x, rows->labels);
    if (loss.class_weight_size()) {
      FailureOr<Expr> each = classWeights(x, loss, where);
      if (failed(each))
        return failure();
      weights = weights * rows->pick(*each);
      losses = losses * rows->pick(*each);
    }
  }
  if (rows->counts) // an infinite loss is ignored, too
    losses = rows->counts->select(losses, losses.splat(0));
  auto field = cast<RankedTensorType>(rows->field.getType());
  ElementLosses built{losses, std::nullopt, rows->field, leadingDims(field.getRank())};
  if (isWeighted)
    built.denominators = weights;
  return built;
}

/// Scores, and the same number of targets from 0 to 1.
static FailureOr<std::pair<Expr, Expr>> binary(SpecValues &v, StringRef logits, StringRef targets,
                                               Location where) {
  FailureOr<Value> scores = v.scores(logits, /*sigmoid=*/true, where);
  FailureOr<Expr> y =
      failed(scores) ? FailureOr<Expr>() : v.targets(targets, *scores, logits, where);
  if (failed(y))
    return failure();
  // Probabilities have one class each, from 0 to 1; whole numbers are one of two classes.
  Value argument = v.argument(targets);
  v.getEntry().setClasses(argument, isa<FloatType>(getElementTypeOrSelf(argument)) ? 1 : 2);
  return std::pair(v.expr(*scores), *y);
}

static ElementLosses overElements(SpecValues &v, Expr losses, StringRef field) {
  Value argument = v.argument(field);
  return {losses, std::nullopt, argument,
          leadingDims(cast<RankedTensorType>(argument.getType()).getRank())};
}

FailureOr<ElementLosses> gradc::buildBinaryCrossEntropy(SpecValues &v,
                                                        const spec::BinaryCrossEntropy &loss,
                                                        Location where) {
  auto scored = binary(v, loss.logits(), loss.targets(), where);
  if (failed(scored))
    return failure();
  auto [x, y] = *scored;
  Expr losses = x.apply<BinaryCrossEntropyOp>(y);
  if (loss.has_positive_weight())
    losses = losses + y * x.apply<BinaryCrossEntropyOp>(x.splat(1)) * (loss.positive_weight() - 1);
  return overElements(v, losses, loss.targets());
}

FailureOr<ElementLosses> gradc::buildFocal(SpecValues &v, const spec::Focal &loss, Location where) {
  double gamma = loss.has_gamma() ? loss.gamma() : 2;
  if (loss.has_labels()) {
    FailureOr<ClassRows> rows = v.classRows(loss.logits(), loss.labels(), std::nullopt, where);
    if (failed(rows))
      return failure();
    Expr x = rows->scores;
    Expr probabilities = x.with(
        x.getBuilder().createOrFold<SoftmaxOp>(x.getLoc(), x, x.getBuilder().getI64IntegerAttr(1)));
    Expr wrong = (1 - rows->pick(probabilities)).apply<MaxOp>(rows->pick(x).splat(0));
    Expr losses = wrong.apply<PowOp>(wrong.splat(gamma)) * crossEntropy(x, rows->labels);
    return overElements(v, losses, loss.labels());
  }
  auto scored = binary(v, loss.logits(), loss.targets(), where);
  if (failed(scored))
    return failure();
  auto [x, y] = *scored;
  Expr p = x.apply<SigmoidOp>();
  Expr wrong = p + y * (1 - 2 * p);
  Expr losses = x.apply<BinaryCrossEntropyOp>(y) * wrong.apply<PowOp>(wrong.splat(gamma));
  if (loss.has_alpha())
    losses = losses * (y * (2 * loss.alpha() - 1) + (1 - loss.alpha()));
  return overElements(v, losses, loss.targets());
}

FailureOr<ElementLosses> gradc::buildKlDivergence(SpecValues &v, const spec::KlDivergence &loss,
                                                  Location where) {
  FailureOr<Value> scores = v.scores(loss.logits(), /*sigmoid=*/false, where);
  if (failed(scores) || failed(v.expectClasses(*scores, loss.logits(), where)))
    return failure();
  auto type = cast<RankedTensorType>((*scores).getType());
  FailureOr<Expr> targets = v.targets(loss.targets(), *scores, loss.logits(), where);
  if (failed(targets))
    return failure();
  Value argument = v.argument(loss.targets());
  auto found = cast<RankedTensorType>(argument.getType());
  if (found.getShape() != type.getShape() || !isa<FloatType>(found.getElementType()))
    return emitError(where) << "expected targets as distributions " << describe(type)
                            << ", found field \"" << loss.targets() << "\", " << describe(found);
  v.getEntry().setClasses(argument, type.getShape().back());
  int64_t classes = type.getShape().back();
  SmallVector<int64_t> shape = {type.getNumElements() / classes, classes};
  Expr x = v.expr(*scores).reshape(shape), y = targets->reshape(shape);
  Expr isPositive = y.compare(ComparePredicate::gt, y.splat(0));
  Expr entropy = y * isPositive.select(y, y.splat(1)).apply<LogOp>();
  Expr losses = crossEntropy(x, y) + entropy.sum({1});
  return ElementLosses{losses, std::nullopt, argument, leadingDims(found.getRank(), 1)};
}

FailureOr<ElementLosses> gradc::buildHinge(SpecValues &v, const spec::Hinge &loss, Location where) {
  double margin = loss.has_margin() ? loss.margin() : 1;
  if (!loss.has_labels()) {
    FailureOr<Value> scores = v.output(loss.logits(), where);
    FailureOr<Expr> y = failed(scores) ? FailureOr<Expr>()
                                       : v.targets(loss.targets(), *scores, loss.logits(), where);
    if (failed(y))
      return failure();
    Expr x = v.expr(*scores);
    Expr sign = y->compare(ComparePredicate::gt, y->splat(0)).select(x.splat(1), x.splat(-1));
    return overElements(v, (margin - sign * x).apply<ReluOp>(), loss.targets());
  }
  FailureOr<ClassRows> rows = v.classRows(loss.logits(), loss.labels(), std::nullopt, where);
  if (failed(rows))
    return failure();
  Expr x = rows->scores;
  Expr excess = (x - rows->pick(x).broadcast(x.type(), {0}) + margin).apply<ReluOp>();
  Expr others = rows->isLabel().select(x.splat(0), excess);
  return overElements(v, others.sum({1}) * (1 / double(rows->classes())), loss.labels());
}
