// Linear models of ai.onnx.ml: scores that are products of features and coefficients.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/ml/Scores.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
struct LinearModel {
  Expr x; ///< f32 [rows, features]
  SmallVector<float> coefficients, intercepts;
  int64_t outputs;

  Expr scores(Node &n) const { return affine(n, x, coefficients, intercepts); }
};
} // namespace

static FailureOr<LinearModel> readLinear(Node &n) {
  FailureOr<Expr> x = featureRows(n);
  if (failed(x))
    return failure();
  LinearModel model{*x, n.reals("coefficients").value_or(SmallVector<float>()),
                    n.reals("intercepts").value_or(SmallVector<float>()), 0};
  int64_t features = x->shape()[1], count = int64_t(model.coefficients.size());
  if (features == 0 || count == 0 || count % features != 0)
    return n.error() << "expected coefficients for " << features << " features, as "
                     << n.describeOperand(0) << " has, found " << count;
  model.outputs = count / features;
  if (!model.intercepts.empty() && int64_t(model.intercepts.size()) != model.outputs)
    return n.error() << "expected " << model.outputs << " intercepts, as many as scores, found "
                     << model.intercepts.size();
  return model;
}

static LogicalResult importLinearRegressor(Node &n) {
  int64_t targets = n.integer("targets", 1);
  FailureOr<LinearModel> model = readLinear(n);
  if (failed(model))
    return failure();
  if (model->outputs != targets)
    return n.error() << "expected coefficients for " << targets << " targets, found those for "
                     << model->outputs;
  FailureOr<PostTransform> how = readPostTransform(n, targets);
  if (failed(how))
    return failure();
  return n.set(transformed(n, model->scores(n), *how));
}

/// Labels and scores. A single score is that of the second of two classes.
static LogicalResult importLinearClassifier(Node &n) {
  n.ignore("multi_class"); // the number of scores says it, too
  FailureOr<LinearModel> model = readLinear(n);
  auto names = readClassNames(n, "classlabels_ints", "classlabels_strings");
  if (failed(model) || failed(names))
    return failure();
  bool isSingle = model->outputs == 1;
  if (names->size() != (isSingle ? 2 : model->outputs))
    return n.error() << "expected " << (isSingle ? 2 : model->outputs) << " labels for "
                     << model->outputs << " scores, found " << names->size();
  auto how = readPostTransform(n, model->outputs, /*takesLogistic=*/true);
  if (failed(how))
    return failure();
  Expr scores = model->scores(n);
  if (!isSingle) {
    (void)n.set(1, transformed(n, scores, *how));
    return setClasses(n, *names, largestOf(scores));
  }
  Expr first = *how == PostTransform::none ? 1.0 - scores : transformed(n, -scores, *how);
  (void)n.set(1, scoresOfTwo(n, first, transformed(n, scores, *how)));
  Expr isSecond = scores.compare(ComparePredicate::gt, scores.splat(0));
  return setClasses(n, *names,
                    isSecond.cast(n.builder().getI64Type()).reshape({scores.shape()[0]}));
}

void gradc::addLinearOps(OpTable &ops) {
  ops["ai.onnx.ml::LinearRegressor"] = {importLinearRegressor, 1, 1};
  ops["ai.onnx.ml::LinearClassifier"] = {importLinearClassifier, 1, 1};
}
