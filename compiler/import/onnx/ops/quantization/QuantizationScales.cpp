// Nodes of domain "gradc", which a job that trains for quantization adds to its graph: the scales
// of weights and of activations. They are no ops of ONNX, and exported models do not have them.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"
#include "runtime/include/gradc/artifact.h"
#include "runtime/include/gradc/roles.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Whether training has come to the step of attribute `name`; always in other entries.
static Expr isAt(Node &n, StringRef name) {
  Type boolean = n.builder().getI1Type();
  int64_t first = n.integer(name, 1);
  if (!n.training() || first <= 1)
    return n.expr(splat(n.builder(), n.loc(), RankedTensorType::get({}, boolean), 1));
  Expr step = n.expr(n.getEntry().scalarArgument(GRADC_ROLE_STEP));
  return step.compare(ComparePredicate::ge, step.splat(double(first)));
}

/// Whether values are quantized in this step, a bool.
static LogicalResult importIsQuantizing(Node &n) { return n.set(isAt(n, "begin_step")); }

/// A scale per index of `axis` for codes from -127 to 127. With operands 1 and 2, a bias and the
/// scale of the layer's input, also one by which the bias fits 32-bit codes.
static LogicalResult importWeightScale(Node &n) {
  constexpr double mostCode = 127, mostBiasCode = 1 << 30;
  FailureOr<int64_t> axis = n.axis(n.integer("axis", 0), n.rank(0));
  if (failed(n.expect(0, Kind::Float)) || failed(axis))
    return failure();
  Expr size = n.expr(0u).apply<AbsOp>();
  SmallVector<int64_t> dims = otherDims(n.rank(0), {*axis});
  if (size.type().getNumElements() == 0)
    return n.set(n.expr(splat(n.builder(), n.loc(),
                              RankedTensorType::get({n.shape(0)[*axis]}, size.element()), 1)));
  if (!dims.empty())
    size = size.with(n.builder().createOrFold<ReduceMaxOp>(n.loc(), size, dims));
  Expr scale = size / mostCode;
  if (n.operand(1)) {
    Expr bias = n.expr(1).apply<AbsOp>() / mostBiasCode;
    scale = scale.apply<MaxOp>(bias / n.expr(2).broadcastScalar(bias.type()));
  }
  Expr isUsed = scale.compare(ComparePredicate::gt, scale.splat(0));
  return n.set(n.detached(isUsed.select(scale, scale.splat(1))));
}

/// Only 0 has been seen.
static Expr isEmpty(const ZeroRange &range) {
  return range.low.compare(ComparePredicate::eq, range.high);
}

static ZeroRange rangeIn(Node &n, Expr state) {
  auto end = [&](int64_t i) { return state.slice(0, i, 1).reshape({}); };
  return {end(0), end(1)};
}

/// Moves the range in operand 1 towards that of operand 0, before the step `fixed_step`. The first
/// range is that of the first batch.
static Value observe(Node &n) {
  EntryImport &entry = n.getEntry();
  OpBuilder &b = n.builder();
  double momentum = n.real("momentum", 0.99);
  auto state = n.operand(1).getDefiningOp<ReadOp>();
  ZeroRange before = rangeIn(n, n.expr(entry.latestStatistic(state))),
            batch = rangeWithZero(n.detached(n.expr(0u)));
  Expr isFirst = isEmpty(before);
  auto mix = [&](Expr old, Expr latest) {
    Expr mixed = isFirst.select(latest, old * momentum + latest * (1 - momentum));
    return n.has("fixed_step") ? isAt(n, "fixed_step").select(old, mixed) : mixed;
  };
  SmallVector<Value> ends = {mix(before.low, batch.low).reshape({1}),
                             mix(before.high, batch.high).reshape({1})};
  Value now = b.createOrFold<ConcatenateOp>(n.loc(), ends, /*dim=*/0);
  entry.setStatistic(state, now, n.loc());
  return now;
}

/// The range of operand 0 (its least and its largest value, and 0) over the steps so far, which is
/// the statistic in operand 1.
static LogicalResult importObserveRange(Node &n) {
  if (failed(n.expect(0, Kind::Float)) || failed(n.expectSameElement(0, 1)))
    return failure();
  n.ignore("momentum");
  n.ignore("fixed_step");
  n.getEntry().getStates().makeStatistic(n.operand(1), n.loc(), GRADC_RANGE_RULE);
  bool observes = n.training() && n.type(0).getNumElements() > 0;
  return n.set(observes ? observe(n) : n.operand(1));
}

/// The scale and the zero point (u8) of values in a range, and whether they are quantized (bool):
/// not before `begin_step`, nor while no value but 0 has been seen.
static LogicalResult importRangeScale(Node &n) {
  constexpr double codes = 255;
  ZeroRange range = rangeIn(n, n.expr(0u));
  Expr isUnknown = isEmpty(range), scale = (range.high - range.low) / codes;
  scale = isUnknown.select(scale.splat(1), scale);
  Expr zero = (-range.low / scale).apply<RoundOp>();
  Expr isQuantized = isUnknown.select(isUnknown.splat(0), isAt(n, "begin_step"));
  (void)n.set(1, zero.cast(n.builder().getIntegerType(8, /*isSigned=*/false)));
  if (n.wants(2))
    (void)n.set(2, isQuantized);
  return n.set(scale);
}

void gradc::addQuantizationScalesOps(OpTable &ops) {
  ops["gradc::IsQuantizing"] = {importIsQuantizing, 0, 0};
  ops["gradc::WeightScale"] = {importWeightScale, 1, 3};
  ops["gradc::ObserveRange"] = {importObserveRange, 2, 2};
  ops["gradc::RangeScale"] = {importRangeScale, 1, 1};
}
