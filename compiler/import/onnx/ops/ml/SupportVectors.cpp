// Support vector machines of ai.onnx.ml: sums of a kernel of a row and each support vector.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/ml/Scores.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
struct SupportVectors {
  Expr x; ///< f32 [rows, features]
  SmallVector<float> vectors, coefficients, rho;
  int64_t count; ///< of vectors; 0: the coefficients are those of the features
};
} // namespace

static FailureOr<SupportVectors> readVectors(Node &n, int64_t count) {
  FailureOr<Expr> x = featureRows(n);
  if (failed(x))
    return failure();
  auto list = [&](StringRef name) { return n.reals(name).value_or(SmallVector<float>()); };
  SupportVectors model{*x, list("support_vectors"), list("coefficients"), list("rho"), count};
  int64_t features = x->shape()[1];
  int64_t found = int64_t(model.vectors.size());
  if (features == 0 || count < 0 || count > found || found != count * features)
    return n.error() << "expected " << count << " support vectors of " << features
                     << " features, as " << n.describeOperand(0) << " has, found " << found
                     << " numbers";
  return model;
}

/// The kernel of each row and each support vector, [rows, vectors].
static FailureOr<Expr> kernelOf(Node &n, const SupportVectors &model) {
  StringRef type = n.string("kernel_type", "LINEAR");
  SmallVector<float> numbers = n.reals("kernel_params").value_or(SmallVector<float>());
  if (numbers.empty())
    numbers = {0, 0, 3};
  if (numbers.size() != 3)
    return n.error() << "expected gamma, coef0 and degree as kernel_params, found "
                     << numbers.size() << " numbers";
  double gamma = double(numbers[0]), shift = double(numbers[1]), degree = double(numbers[2]);
  auto product = [&] { return affine(n, model.x, model.vectors, {}); };
  if (type == "LINEAR")
    return product();
  if (type == "POLY") {
    Expr base = product() * gamma + shift;
    return base.apply<PowOp>(base.splat(degree));
  }
  if (type == "SIGMOID")
    return (product() * gamma + shift).apply<TanhOp>();
  if (type != "RBF")
    return n.error() << "expected kernel_type LINEAR, POLY, RBF or SIGMOID, found \"" << type
                     << "\"";
  // Products would cancel where a row is close to a vector.
  int64_t rows = model.x.shape()[0], features = model.x.shape()[1];
  auto pairs = model.x.type().clone({rows, model.count, features});
  Expr vectors = floatsOf(n, model.vectors, {model.count, features});
  Expr difference = model.x.broadcast(pairs, {0, 2}) - vectors.broadcast(pairs, {1, 2});
  return ((difference * difference).sum({2}) * -gamma).apply<ExpOp>();
}

static LogicalResult importSvmRegressor(Node &n) {
  bool isOneClass = n.integer("one_class", 0) != 0;
  FailureOr<SupportVectors> model = readVectors(n, n.integer("n_supports", 0));
  FailureOr<PostTransform> how = readPostTransform(n, 1);
  if (failed(model) || failed(how))
    return failure();
  Expr x = model->x;
  if (model->count) {
    FailureOr<Expr> kernel = kernelOf(n, *model);
    if (failed(kernel))
      return failure();
    x = *kernel;
  } else {
    n.ignore("kernel_type"); // without vectors, the model is linear
    n.ignore("kernel_params");
  }
  if (int64_t(model->coefficients.size()) != x.shape()[1] || model->rho.size() != 1)
    return n.error() << "expected " << x.shape()[1] << " coefficients and one rho, found "
                     << model->coefficients.size() << " and " << model->rho.size();
  Expr y = affine(n, x, model->coefficients, model->rho);
  if (isOneClass)
    y = y.compare(ComparePredicate::gt, y.splat(0)).select(y.splat(1), y.splat(-1));
  return n.set(y);
}

/// The weights of the kernels in the decision of each pair of classes, [pairs, vectors]: the
/// coefficients have a row for each class but one, which those of class j use against class i as
/// row i if i < j, or else as row i - 1.
static SmallVector<float> pairWeights(const SupportVectors &model, ArrayRef<int64_t> sizes) {
  SmallVector<float> weights;
  SmallVector<int64_t> begins{0};
  for (int64_t size : sizes)
    begins.push_back(begins.back() + size);
  int64_t classes = int64_t(sizes.size()), count = model.count;
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j) {
      size_t start = weights.size();
      weights.resize(start + count);
      for (int64_t v = begins[i]; v < begins[i + 1]; ++v)
        weights[start + v] = model.coefficients[(j - 1) * count + v];
      for (int64_t v = begins[j]; v < begins[j + 1]; ++v)
        weights[start + v] = model.coefficients[i * count + v];
    }
  return weights;
}

/// The class that wins most of the decisions between two, of which positive ones are for the first.
static Expr winnerOf(Node &n, Expr decisions, int64_t classes) {
  int64_t pairs = decisions.shape()[1], pair = 0;
  SmallVector<float> gain(classes * pairs), sure(classes);
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      gain[i * pairs + pair] = 1;
      gain[j * pairs + pair] = -1;
      sure[j] += 1;
    }
  Expr isFirst = decisions.compare(ComparePredicate::gt, decisions.splat(0));
  return largestOf(affine(n, isFirst.cast(decisions.element()), gain, sure));
}

static LogicalResult importSvmClassifier(Node &n) {
  SmallVector<int64_t> sizes = n.integers("vectors_per_class").value_or(SmallVector<int64_t>());
  int64_t classes = int64_t(sizes.size()), pairs = classes * (classes - 1) / 2;
  if (n.has("prob_a") || n.has("prob_b"))
    return n.error() << "with prob_a and prob_b is not supported: export the model without "
                        "probabilities (scikit-learn: SVC(probability=False))";
  auto isSensible = [](int64_t size) { return size > 0 && size <= mostKnown; };
  if (classes < 2 || !llvm::all_of(sizes, isSensible))
    return n.error() << "expected support vectors of two or more classes, found vectors_per_class "
                     << formatDims(sizes);
  auto model = readVectors(n, std::accumulate(sizes.begin(), sizes.end(), int64_t(0)));
  auto names = readClassNames(n, "classlabels_ints", "classlabels_strings");
  FailureOr<PostTransform> how = readPostTransform(n, 1);
  if (failed(model) || failed(names) || failed(how))
    return failure();
  if (int64_t(model->coefficients.size()) != (classes - 1) * model->count ||
      int64_t(model->rho.size()) != pairs || names->size() != classes)
    return n.error() << "expected " << (classes - 1) * model->count << " coefficients, " << pairs
                     << " rho and " << classes << " labels, found " << model->coefficients.size()
                     << ", " << model->rho.size() << " and " << names->size();
  FailureOr<Expr> kernel = kernelOf(n, *model);
  if (failed(kernel))
    return failure();
  Expr decisions = affine(n, *kernel, pairWeights(*model, sizes), model->rho);
  (void)n.set(1, classes == 2 ? scoresOfTwo(n, -decisions, decisions) : decisions);
  return setClasses(n, *names, winnerOf(n, decisions, classes));
}

void gradc::addSupportVectorsOps(OpTable &ops) {
  ops["ai.onnx.ml::SVMRegressor"] = {importSvmRegressor, 1, 1};
  ops["ai.onnx.ml::SVMClassifier"] = {importSvmClassifier, 1, 1};
}
