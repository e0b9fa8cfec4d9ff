// Softmax, LogSoftmax, layer, RMS, instance, group and Lp normalization, LRN. Norms of 16-bit
// floats are computed in f32: f16 has no square of 300.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Norm.h"
#include "compiler/import/onnx/ops/Window.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Up to opset 12, over all dims from `axis` on, as a matrix; from opset 13 on, over one dim.
template <typename Op> static LogicalResult softmax(Node &n) {
  bool flattens = n.opset() < 13;
  FailureOr<int64_t> dim = n.axis(n.integer("axis", flattens ? 1 : -1), n.rank(0));
  if (failed(n.expect(0, Kind::Float)) || failed(dim))
    return failure();
  if (n.type(0).getNumElements() == 0)
    return n.set(n.operand(0));
  auto apply = [&](Expr x, int64_t d) {
    return x.with(n.builder().createOrFold<Op>(n.loc(), x, n.builder().getI64IntegerAttr(d)));
  };
  std::optional<RunExtent> extent = n.extent(0);
  int64_t along = extent ? extent->dim : 0;
  bool isSummed = flattens ? along >= *dim : along == *dim;
  Expr x = isSummed ? n.neutralBehindExtent(0, n.expr(0u), along,
                                            -std::numeric_limits<double>::infinity())
                    : n.expr(0u);
  // Behind the extent, logarithms are -inf, and all is NaN where a run has no elements. Gradients
  // of what multiplies the result are sums over these elements, too, times 0.
  auto set = [&](Expr y) {
    bool isCleared = isSummed && n.mayDifferentiate();
    return n.setLike(0, isCleared ? n.neutralBehindExtent(0, y, along, 0) : y, along);
  };
  if (!flattens || *dim == n.rank(0) - 1)
    return set(apply(x, *dim));
  int64_t rows = 1, columns = 1;
  for (auto [d, size] : llvm::enumerate(n.shape(0)))
    (int64_t(d) < *dim ? rows : columns) *= size;
  return set(apply(x.reshape({rows, columns}), 1).reshape(n.shape(0)));
}

FailureOr<Normalized> gradc::normalize(Node &n, Expr x, ArrayRef<int64_t> dims, double epsilon) {
  for (int64_t d : dims)
    if (x.shape()[d] == 0)
      return n.error() << "expected elements to normalize, found " << n.describeOperand(0);
  if (dims.empty() || !(epsilon >= 0))
    return n.error() << "expected dims to normalize over in " << n.describeOperand(0)
                     << " and an epsilon of at least 0, found " << epsilon;
  auto op = NormalizeOp::create(n.builder(), n.loc(), x, dims, APFloat(epsilon));
  return Normalized{x.with(op.getResult()), x.with(op.getMean()), x.with(op.getVariance())};
}

static SmallVector<int64_t> dimsFrom(int64_t first, int64_t rank) {
  return llvm::to_vector(llvm::seq(first, rank));
}

/// Computes statistics in f32 (stash_type 1), scale and bias in the operand's type.
static LogicalResult importLayerNormalization(Node &n) {
  double epsilon = n.real("epsilon", 1e-5);
  int64_t stash = n.integer("stash_type", 1);
  FailureOr<int64_t> axis = n.axis(n.integer("axis", -1), n.rank(0));
  if (failed(n.expect(0, Kind::Float)) || failed(axis))
    return failure();
  if (*axis == 0 && n.extent(0)) // the rows of a run would be normalized over
    return n.refuseExtent(0);
  Type compute = elementType(*n.builder().getContext(), int32_t(stash));
  if (!compute || !isa<FloatType>(compute))
    return n.error() << "expected a float type as stash_type, found "
                     << dataTypeName(int32_t(stash));
  for (unsigned i = 1; i < n.operandCount(); ++i) {
    if (!n.operand(i))
      continue;
    auto common = broadcastShape(n.shape(0), n.shape(i));
    if (failed(n.expectSameElement(0, i)))
      return failure();
    if (!common || *common != n.shape(0))
      return n.error() << "expected " << (i == 1 ? "a scale" : "a bias") << " that broadcasts to "
                       << n.describeOperand(0) << ", found " << n.describeOperand(i);
  }
  Expr x = n.expr(0u);
  if (n.element(0).getIntOrFloatBitWidth() < compute.getIntOrFloatBitWidth())
    x = x.cast(compute);
  auto normalized = normalize(n, x, dimsFrom(*axis, n.rank(0)), epsilon);
  if (failed(normalized))
    return failure();
  SmallVector<int64_t> kept(n.shape(0));
  std::fill(kept.begin() + *axis, kept.end(), 1);
  if (n.wants(1))
    (void)n.set(1, normalized->mean.reshape(kept).cast(compute));
  if (n.wants(2))
    (void)n.set(2, (normalized->variance + epsilon).apply<RsqrtOp>().reshape(kept).cast(compute));
  Expr y = normalized->result.cast(n.element(0)) * n.expr(n.broadcast(n.operand(1), n.shape(0)));
  if (n.operand(2))
    y = y + n.expr(n.broadcast(n.operand(2), n.shape(0)));
  return n.set(y);
}

/// x / sqrt(mean of x^2 + epsilon) in the precision of stash_type, times a scale.
static LogicalResult importRmsNormalization(Node &n) {
  double epsilon = n.real("epsilon", 1e-5);
  int32_t stash = int32_t(n.integer("stash_type", 1));
  FailureOr<int64_t> axis = n.axis(n.integer("axis", -1), n.rank(0));
  if (failed(n.expect(0, Kind::Float)) || failed(n.expect(1, Kind::Float)) || failed(axis))
    return failure();
  if (*axis == 0 && n.extent(0))
    return n.refuseExtent(0);
  Type compute = elementType(*n.builder().getContext(), stash);
  if (!compute || !isa<FloatType>(compute) || !(epsilon >= 0))
    return n.error() << "expected a float type as stash_type and an epsilon of at least 0, found "
                     << dataTypeName(stash) << " and " << epsilon;
  auto common = broadcastShape(n.shape(0), n.shape(1));
  if (!common || *common != n.shape(0))
    return n.error() << "expected a scale that broadcasts to " << n.describeOperand(0) << ", found "
                     << n.describeOperand(1);
  Expr x = n.expr(0u);
  if (n.element(0).getIntOrFloatBitWidth() < compute.getIntOrFloatBitWidth())
    x = x.cast(compute);
  SmallVector<int64_t> dims = dimsFrom(*axis, n.rank(0));
  Expr mean = x.with(n.builder().createOrFold<ReduceMeanOp>(n.loc(), x * x, dims));
  Expr factor = (mean + epsilon).apply<RsqrtOp>();
  Expr y = x * factor.broadcast(x.type(), dimsFrom(0, *axis));
  return n.set(y.cast(n.element(1)) * n.expr(n.broadcast(n.operand(1), n.shape(0))));
}

Expr gradc::normOf(Expr sum, int64_t p) {
  if (p == 1)
    return sum;
  Expr isZero = sum.compare(ComparePredicate::eq, sum.splat(0));
  Expr base = isZero.select(sum.splat(1), sum);
  Expr root = p == 2 ? base.apply<SqrtOp>() : base.apply<PowOp>(base.splat(1.0 / double(p)));
  return isZero.select(sum.splat(0), root);
}

/// x / |x| along a dim, with the 1-norm or the 2-norm; 0 if the norm is 0.
static LogicalResult importLpNormalization(Node &n) {
  int64_t p = n.integer("p", 2);
  FailureOr<int64_t> dim = n.axis(n.integer("axis", -1), n.rank(0));
  if (failed(n.expect(0, Kind::Float)) || failed(dim))
    return failure();
  if (p != 1 && p != 2)
    return n.error() << "expected p = 1 or p = 2, found " << p;
  Expr x = n.expr(0u).wide();
  Expr norm = normOf((p == 1 ? x.apply<AbsOp>() : x * x).sum({*dim}), p);
  norm = norm.compare(ComparePredicate::eq, norm.splat(0)).select(norm.splat(1), norm);
  Expr unit = x / norm.broadcast(x.type(), otherDims(n.rank(0), {*dim}));
  return n.set(unit.cast(n.element(0)));
}

/// Normalizes [N, C, ...] over the channels of each of `groups` groups and all dims after them.
/// Each of `scales` parts of the channels has one scale and bias.
static LogicalResult normalizeGroups(Node &n, int64_t groups, int64_t scales, double epsilon,
                                     Type compute) {
  ArrayRef<int64_t> s = n.shape(0);
  for (unsigned i : {1u, 2u}) {
    if (failed(n.expectSameElement(0, i)))
      return failure();
    if (n.rank(i) != 1 || n.shape(i)[0] != scales)
      return n.error() << "expected " << (i == 1 ? "a scale of " : "a bias of ") << scales
                       << " elements, found " << n.describeOperand(i);
  }
  SmallVector<int64_t> grouped{s[0], groups, s[1] / groups}, parts{s[0], scales, s[1] / scales};
  llvm::append_range(grouped, s.drop_front(2));
  llvm::append_range(parts, s.drop_front(2));
  auto normalized =
      normalize(n, n.expr(0u).cast(compute).reshape(grouped), dimsFrom(2, grouped.size()), epsilon);
  if (failed(normalized))
    return failure();
  Expr y = normalized->result.reshape(parts).cast(n.element(0));
  y = y * n.expr(1u).broadcast(y.type(), {1}) + n.expr(2u).broadcast(y.type(), {1});
  return n.set(y.reshape(s));
}

static LogicalResult expectChannels(Node &n) {
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  if (n.rank(0) >= 3 && n.shape(0)[1] > 0)
    return success();
  return n.error() << "expected rank 3 or more and channels in dim 1, found "
                   << n.describeOperand(0);
}

static LogicalResult importInstanceNormalization(Node &n) {
  double epsilon = n.real("epsilon", 1e-5);
  if (failed(expectChannels(n)))
    return failure();
  return normalizeGroups(n, n.shape(0)[1], n.shape(0)[1], epsilon, n.element(0));
}

/// One scale and bias per group up to opset 20, and per channel from opset 21 on.
static LogicalResult importGroupNormalization(Node &n) {
  double epsilon = n.real("epsilon", 1e-5);
  int64_t groups = n.integer("num_groups", 0), stash = n.integer("stash_type", 1);
  if (failed(expectChannels(n)))
    return failure();
  int64_t channels = n.shape(0)[1];
  if (groups < 1 || channels % groups != 0)
    return n.error() << "expected num_groups that divides the channels (dim 1) of "
                     << n.describeOperand(0) << ", found " << groups;
  Type compute = n.element(0);
  if (n.opset() >= 21 && stash == 1 && compute.getIntOrFloatBitWidth() < 32)
    compute = n.builder().getF32Type();
  return normalizeGroups(n, groups, n.opset() < 21 ? groups : channels, epsilon, compute);
}

/// (x - mean) / (deviation + 1e-9).
static LogicalResult importMeanVarianceNormalization(Node &n) {
  auto given = n.integers("axes");
  auto axes = n.axes(given ? *given : SmallVector<int64_t>{0, 2, 3}, n.rank(0));
  if (failed(n.expect(0, Kind::Float)) || failed(axes))
    return failure();
  auto normalized = normalize(n, n.expr(0u), *axes, 1e-18);
  if (failed(normalized))
    return failure();
  return n.set(normalized->result);
}

/// x / (bias + alpha / size * sum of x^2 over the `size` surrounding channels)^beta.
static LogicalResult importLrn(Node &n) {
  double alpha = n.real("alpha", 1e-4), beta = n.real("beta", 0.75), bias = n.real("bias", 1);
  int64_t size = n.integer("size", 0);
  if (failed(expectChannels(n)))
    return failure();
  if (failed(expectNumbers(n, "size", {size}, 1, 1)))
    return failure();
  SmallVector<int64_t> channelsFirst = dimsFrom(0, n.rank(0));
  std::swap(channelsFirst[0], channelsFirst[1]);
  Window window{{size}, {1}, {1}, {(size - 1) / 2}, {size / 2}, "NOTSET"};
  Expr x = n.expr(0u).wide().transpose(channelsFirst);
  Value squares = n.builder().createOrFold<WindowSumOp>(n.loc(), x * x, windowAttribute(n, window));
  Expr base = x.with(squares) * (alpha / double(size)) + bias;
  Expr result = x * base.apply<PowOp>(base.splat(-beta));
  return n.set(result.cast(n.element(0)).transpose(channelsFirst));
}

void gradc::addNormalizationOps(OpTable &ops) {
  ops["Softmax"] = {softmax<SoftmaxOp>, 1, 1};
  ops["LogSoftmax"] = {softmax<LogSoftmaxOp>, 1, 1};
  ops["LayerNormalization"] = {importLayerNormalization, 2, 3};
  ops["InstanceNormalization"] = {importInstanceNormalization, 3, 3};
  ops["GroupNormalization"] = {importGroupNormalization, 3, 3};
  ops["MeanVarianceNormalization"] = {importMeanVarianceNormalization, 1, 1};
  ops["RMSNormalization"] = {importRmsNormalization, 2, 2};
  // ONNX Runtime's models have this, in ONNX's own domain.
  ops["SimplifiedLayerNormalization"] = {importRmsNormalization, 2, 2};
  ops["LpNormalization"] = {importLpNormalization, 1, 1};
  ops["LRN"] = {importLrn, 1, 1};
  takeExtents(ops, TakesExtents::itself, {"Softmax", "LogSoftmax"});
  takeExtents(ops, TakesExtents::rows,
              {"InstanceNormalization", "GroupNormalization", "LRN", "LayerNormalization",
               "RMSNormalization", "SimplifiedLayerNormalization"});
}
