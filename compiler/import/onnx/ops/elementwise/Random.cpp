// Dropout and random tensors. The job owns the seeds: the entry receives them as arguments, created
// on first use.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/support/Names.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// A random stream of this node only; normal numbers take two streams.
static IntegerAttr stream(Node &n) { return n.builder().getI32IntegerAttr(2 * n.position()); }
static Value seed(Node &n) { return n.getEntry().scalarArgument(GRADC_ROLE_SEED); }
static Value counter(Node &n) { return n.getEntry().scalarArgument(GRADC_ROLE_COUNTER); }

/// Active in training entries and the identity in all others, whatever training_mode the exporter
/// left: one file serves both.
static LogicalResult importDropout(Node &n) {
  n.ignore("seed");
  n.ignore("is_test"); // from opset 6
  double ratio = n.real("ratio", 0.5);
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  if (n.operand(1)) {
    auto known = n.known(1, "the ratio");
    if (failed(known) || failed(n.expect(1, Kind::Float)))
      return failure();
    if (known->size() != 1)
      return n.error() << "expected a scalar ratio, found " << n.describeOperand(1);
    ratio = known->getFloat(0);
  }
  if (n.operand(2) && failed(n.known(2, "training_mode")))
    return failure();
  if (!(ratio >= 0 && ratio < 1))
    return n.error() << "expected a ratio from 0 to below 1, found " << numberText(ratio);
  bool active = n.training() && ratio > 0;
  if (n.wants(1)) {
    if (active && n.isRead(1))
      return n.error() << "with a mask that is read is not supported in training";
    auto mask = RankedTensorType::get(n.shape(0), n.builder().getI1Type());
    if (failed(n.set(1, splat(n.builder(), n.loc(), mask, 1))))
      return failure();
  }
  if (!active)
    return n.set(n.operand(0));
  return n.set(DropoutOp::create(n.builder(), n.loc(), n.type(0), n.operand(0), seed(n), counter(n),
                                 stream(n), n.builder().getF64FloatAttr(ratio)));
}

template <typename Op>
static LogicalResult makeRandom(Node &n, ArrayRef<int64_t> shape, Type element) {
  n.ignore("seed");
  constexpr bool uniform = std::is_same_v<Op, RandomUniformOp>;
  double a = uniform ? n.real("low", 0) : n.real("mean", 0);
  double b = uniform ? n.real("high", 1) : n.real("scale", 1);
  if (n.has("dtype"))
    element = elementType(*n.builder().getContext(), int32_t(n.integer("dtype", 0)));
  if (!element || !isa<FloatType>(element))
    return n.error() << "expected a float dtype, found "
                     << dataTypeName(int32_t(n.integer("dtype", 0)));
  if (failed(n.expectSensible(shape)))
    return failure();
  Builder &builder = n.builder();
  return n.set(Op::create(n.builder(), n.loc(), RankedTensorType::get(shape, element), seed(n),
                          counter(n), stream(n), builder.getF64FloatAttr(a),
                          builder.getF64FloatAttr(b)));
}

template <typename Op> static LogicalResult random(Node &n) {
  auto shape = n.integers("shape");
  if (!shape)
    return n.error() << "has no shape";
  return makeRandom<Op>(n, *shape, n.builder().getF32Type());
}

template <typename Op> static LogicalResult randomLike(Node &n) {
  return makeRandom<Op>(n, n.shape(0), n.element(0));
}

/// 1 with the probability given by the operand.
static LogicalResult importBernoulli(Node &n) {
  n.ignore("seed");
  Type element = n.element(0);
  if (n.has("dtype"))
    element = elementType(*n.builder().getContext(), int32_t(n.integer("dtype", 0)));
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  if (!element)
    return n.error() << "dtype " << dataTypeName(int32_t(n.integer("dtype", 0)))
                     << " is not supported";
  Builder &b = n.builder();
  Expr number =
      n.expr(RandomUniformOp::create(n.builder(), n.loc(), n.type(0), seed(n), counter(n),
                                     stream(n), b.getF64FloatAttr(0), b.getF64FloatAttr(1)));
  return n.set(number.compare(ComparePredicate::lt, n.operand(0)).cast(element));
}

void gradc::addRandomOps(OpTable &ops) {
  ops["Dropout"] = {importDropout, 1, 3};
  ops["Bernoulli"] = {importBernoulli, 1, 1};
  ops["RandomUniform"] = {random<RandomUniformOp>, 0, 0};
  ops["RandomNormal"] = {random<RandomNormalOp>, 0, 0};
  ops["RandomUniformLike"] = {randomLike<RandomUniformOp>, 1, 1};
  ops["RandomNormalLike"] = {randomLike<RandomNormalOp>, 1, 1};
}
