// Preparation of features in ai.onnx.ml: scaling, norms, thresholds, missing values, selection.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/ml/Scores.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The numbers of an attribute, one for each feature (the last dim of `x`) or one for all, in the
/// shape and type of `x`.
template <typename T>
static FailureOr<Expr> forFeatures(Node &n, StringRef name, const std::optional<T> &numbers,
                                   Expr x) {
  int64_t features = x.type().getRank() ? x.shape().back() : 1;
  int64_t count = numbers ? int64_t(numbers->size()) : 0;
  if (!numbers || (count != 1 && count != features))
    return n.error() << "expected 1 or " << features << " numbers as \"" << name
                     << "\" for the last dim of " << n.describeOperand(0) << ", found " << count;
  HostTensor list(RankedTensorType::get({count}, x.element()));
  for (auto [i, number] : llvm::enumerate(*numbers))
    if constexpr (std::is_same_v<T, SmallVector<float>>)
      list.setFloat(int64_t(i), double(number));
    else
      list.setInt(int64_t(i), number);
  Expr held = n.expr(n.constant(count == 1 ? list.reshaped({}) : list));
  return n.expr(n.broadcast(held, x.shape()));
}

/// The features as f32, or f64 if they have this type.
static FailureOr<Expr> floatFeatures(Node &n) {
  if (failed(n.expect(0, Kind::Number)))
    return failure();
  if (n.rank(0) < 1 || n.rank(0) > 2)
    return n.error() << "expected rows of features, of rank 1 or 2, found " << n.describeOperand(0);
  Expr x = n.expr(0u);
  return n.element(0).isF64() ? x : x.cast(n.builder().getF32Type());
}

/// (x - offset) * scale, as f32.
static LogicalResult importScaler(Node &n) {
  auto offsets = n.reals("offset"), scales = n.reals("scale");
  FailureOr<Expr> x = floatFeatures(n);
  if (failed(x))
    return failure();
  FailureOr<Expr> offset = forFeatures(n, "offset", offsets, *x);
  FailureOr<Expr> scale = forFeatures(n, "scale", scales, *x);
  if (failed(offset) || failed(scale))
    return failure();
  return n.set(((*x - *offset) * *scale).cast(n.builder().getF32Type()));
}

/// Each row divided by its maximum, its 1-norm or its 2-norm, if that is not 0, as f32.
static LogicalResult importNormalizer(Node &n) {
  StringRef kind = n.string("norm", "MAX");
  FailureOr<Expr> given = floatFeatures(n);
  if (failed(given))
    return failure();
  if (kind != "MAX" && kind != "L1" && kind != "L2")
    return n.error() << "expected norm MAX, L1 or L2, found \"" << kind << "\"";
  Expr x = given->cast(n.builder().getF32Type());
  int64_t last = n.rank(0) - 1;
  if (n.shape(0)[last] == 0)
    return n.set(x);
  Expr norm = x;
  if (kind == "MAX") {
    norm = x.with(n.builder().createOrFold<ReduceMaxOp>(n.loc(), x.get(), ArrayRef{last}));
  } else if (kind == "L1") {
    norm = x.apply<AbsOp>().sum({last});
  } else {
    // The root has no slope at 0.
    Expr sum = (x * x).sum({last});
    sum = sum.compare(ComparePredicate::eq, sum.splat(0)).select(sum.splat(1), sum);
    norm = sum.apply<SqrtOp>();
  }
  norm = norm.compare(ComparePredicate::eq, norm.splat(0)).select(norm.splat(1), norm);
  return n.set(x / norm.broadcast(x.type(), otherDims(n.rank(0), {last})));
}

/// 1 above a threshold, 0 elsewhere.
static LogicalResult importBinarizer(Node &n) {
  double threshold = n.real("threshold", 0);
  if (failed(n.expect(0, Kind::Number)))
    return failure();
  Expr x = n.expr(0u);
  if (!isa<FloatType>(n.element(0)))
    x = x.cast(n.builder().getF64Type());
  return n.set(x.compare(ComparePredicate::gt, x.splat(threshold)).cast(n.element(0)));
}

/// Replaces one number, which may be NaN, by that of each feature.
static LogicalResult importImputer(Node &n) {
  auto floats = n.reals("imputed_value_floats");
  auto integers = n.integers("imputed_value_int64s");
  double replacedFloat = n.real("replaced_value_float", 0);
  int64_t replacedInteger = n.integer("replaced_value_int64", 0);
  if (failed(n.expect(0, Kind::Number)))
    return failure();
  Expr x = n.expr(0u);
  bool isFloat = isa<FloatType>(n.element(0));
  if (n.rank(0) < 1 || n.rank(0) > 2)
    return n.error() << "expected rows of features, of rank 1 or 2, found " << n.describeOperand(0);
  FailureOr<Expr> imputed = isFloat ? forFeatures(n, "imputed_value_floats", floats, x)
                                    : forFeatures(n, "imputed_value_int64s", integers, x);
  if (failed(imputed))
    return failure();
  Expr isReplaced = x.compare(ComparePredicate::ne, x);
  if (!isFloat || !std::isnan(replacedFloat)) {
    HostTensor replaced(RankedTensorType::get({}, n.element(0)));
    if (isFloat)
      replaced.setFloat(0, replacedFloat);
    else
      replaced.setInt(0, replacedInteger);
    isReplaced = x.compare(ComparePredicate::eq, n.broadcast(n.constant(replaced), n.shape(0)));
  }
  return n.set(isReplaced.select(*imputed, x));
}

/// The elements of the last dim of operand 0, which may be strings, at the indices in operand 1.
static LogicalResult importArrayFeatureExtractor(Node &n) {
  int64_t rank = n.rank(0) - (n.isText(0) ? 1 : 0), last = rank - 1;
  if (n.isText(1) || failed(n.expect(1, Kind::Int)))
    return n.isText(1) ? n.error() << "expected indices, found " << n.describeOperand(1)
                       : failure();
  if (rank < 1)
    return n.error() << "expected rank 1 or more, found " << n.describeOperand(0);
  int64_t count = n.type(1).getNumElements();
  SmallVector<int64_t> shape(n.shape(0));
  shape[last] = count;
  if (rank == 1)
    shape.insert(shape.begin(), 1);
  Expr x = n.expr(0u);
  FailureOr<Value> indices = expectIndices(n, n.expr(1u).reshape({count}), last);
  if (failed(indices) || failed(n.expectSensible(shape)))
    return failure();
  Value picked;
  if (auto known = n.tryKnown(1); known && count > 0) {
    SmallVector<int64_t> places;
    for (int64_t i = 0; i < count; ++i)
      places.push_back(known->getInt(i) < 0 ? known->getInt(i) + n.shape(0)[last]
                                            : known->getInt(i));
    picked = pick(x, last, places);
  }
  if (!picked)
    picked = gatherAlong(x, last, *indices);
  (void)n.set(n.expr(picked).reshape(shape));
  if (n.isText(0))
    n.markText(0);
  return success();
}

/// The features of all operands, as f32 [rows, features].
static LogicalResult importFeatureVectorizer(Node &n) {
  auto sizes = n.integers("inputdimensions");
  SmallVector<Value> parts;
  SmallVector<int64_t> found;
  for (unsigned i = 0; i < n.operandCount(); ++i) {
    if (!n.operand(i))
      return n.error() << "operand " << i << " is missing";
    FailureOr<Expr> rows = featureRows(n, i);
    if (failed(rows))
      return failure();
    if (i && rows->shape()[0] != cast<RankedTensorType>(parts[0].getType()).getDimSize(0))
      return n.error() << "expected operands with the same number of rows, found "
                       << n.describeOperand(0) << " and " << n.describeOperand(i);
    parts.push_back(*rows);
    found.push_back(rows->shape()[1]);
  }
  if (sizes && *sizes != found)
    return n.error() << "expected inputdimensions " << formatDims(found)
                     << ", as the operands have, found " << formatDims(*sizes);
  return n.set(concatenate(n.builder(), n.loc(), parts, 1));
}

void gradc::addFeaturesOps(OpTable &ops) {
  ops["ai.onnx.ml::Scaler"] = {importScaler, 1, 1};
  ops["ai.onnx.ml::Normalizer"] = {importNormalizer, 1, 1};
  ops["ai.onnx.ml::Binarizer"] = {importBinarizer, 1, 1};
  ops["ai.onnx.ml::Imputer"] = {importImputer, 1, 1};
  OnnxOp extractor{importArrayFeatureExtractor, 2, 2};
  extractor.strings = true;
  ops["ai.onnx.ml::ArrayFeatureExtractor"] = extractor;
  ops["ai.onnx.ml::FeatureVectorizer"] = {importFeatureVectorizer, 1, OnnxOp::any};
}
