// Losses: stable whole-op gradients, and decompositions into elementwise ops and reductions.
#include "dialects/grad/Backward.h"
#include "dialects/grad/Build.h"

using namespace mlir;
using namespace mlir::grad;

// Softmax cross-entropy ---------------------------------------------------------------------------

/// C1 and C2 of both cross-entropy ops.
static LogicalResult checkLabels(RankedTensorType logits, RankedTensorType labels,
                                 llvm::function_ref<LogicalResult(const Twine &)> fail) {
  auto print = [](Type t) {
    std::string text;
    llvm::raw_string_ostream(text) << t;
    return text;
  };
  if (logits.getRank() != 2)
    return fail("expected logits of rank 2, found " + print(logits));
  if (logits.getDimSize(1) == 0)
    return fail("expected at least one class, found logits " + print(logits));
  bool distribution = isa<FloatType>(labels.getElementType());
  RankedTensorType expected =
      distribution ? logits
                   : RankedTensorType::get({logits.getDimSize(0)}, labels.getElementType());
  if (labels == expected)
    return success();
  return fail("expected " + Twine(distribution ? "float" : "integer") + " labels " +
              print(expected) + ", found " + print(labels));
}

static bool isDistribution(Value labels) { return isa<FloatType>(getElementTypeOrSelf(labels)); }

/// Rows with fewer classes stay in registers, where a comparison with each class is cheap; longer
/// ones would be read once more.
constexpr int64_t longRow = 1024;

/// bool [N, C]: is c the label of sample n? Compared in 32 bits: narrower labels must not wrap, and
/// wider ones would halve the lanes per vector.
static Expr isLabel(Expr logits, Value labels) {
  OpBuilder &b = logits.getBuilder();
  RankedTensorType type = logits.type().clone(b.getI32Type());
  Expr classes = logits.with(IotaOp::create(b, logits.getLoc(), type, 1));
  Expr label = logits.with(labels).cast(b.getI32Type()).broadcast(type, {0});
  return classes.compare(ComparePredicate::eq, label);
}

/// The label's logit minus its row's maximum, [N], in the type of the maximum; 0 if the label is no
/// class. Labels of 64 bits and short logits are read as they are, so that nothing else has to run
/// before logits are picked.
static Expr labelLogit(Expr logits, Value labels, Expr maximum) {
  OpBuilder &b = logits.getBuilder();
  if (logits.shape()[1] < longRow) {
    Expr wide = logits.cast(maximum.element());
    Expr s = wide - maximum.broadcast(wide.type(), {0});
    return isLabel(logits, labels).select(s, s.splat(0)).sum(1);
  }
  Expr label = logits.with(labels).cast(b.getI64Type());
  Expr picked = logits.with(GatherOp::create(b, logits.getLoc(), logits, label.get(),
                                             /*dims=*/{0, -1}, /*indexDims=*/{0}));
  picked = picked.cast(maximum.element());
  Expr none = maximum.splat(0);
  Expr isBelow = label.compare(ComparePredicate::lt, label.splat(0));
  Expr isAbove = label.compare(ComparePredicate::ge, label.splat(double(logits.shape()[1])));
  return isBelow.select(none, isAbove.select(none, picked - maximum));
}

/// A row's labels as probabilities: `weight(n, c)`.
static double labelWeight(const HostTensor &labels, int64_t n, int64_t c, int64_t classes) {
  if (isa<FloatType>(labels.getElementType()))
    return labels.getFloat(n * classes + c);
  return labels.getInt(n) == c ? 1 : 0;
}

/// ln sum(e^x) of row `n` minus its maximum, and that maximum.
static std::pair<double, double> logSum(const HostTensor &logits, int64_t n) {
  int64_t classes = logits.getShape()[1];
  double maximum = logits.getFloat(n * classes), sum = 0;
  for (int64_t c = 1; c < classes; ++c) {
    double x = logits.getFloat(n * classes + c);
    maximum = x > maximum || std::isnan(x) ? x : maximum;
  }
  for (int64_t c = 0; c < classes; ++c)
    sum += std::exp(logits.getFloat(n * classes + c) - maximum);
  return {std::log(sum), maximum};
}

LogicalResult SoftmaxCrossEntropyOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                                      Adaptor adaptor,
                                                      SmallVectorImpl<Type> &types) {
  auto logits = cast<RankedTensorType>(adaptor.getLogits().getType());
  auto labels = cast<RankedTensorType>(adaptor.getLabels().getType());
  if (failed(checkLabels(logits, labels,
                         [&](const Twine &text) { return emitOptionalError(loc, text); })))
    return failure();
  types.push_back(logits.clone(logits.getShape().take_front()));
  return success();
}

int64_t SoftmaxCrossEntropyOp::getFlops() { return 5 * getLogits().getType().getNumElements(); }
int64_t SoftmaxCrossEntropyGradOp::getFlops() { return 7 * getLogits().getType().getNumElements(); }

// With respect to a distribution's labels: logsumexp - logits.
LogicalResult SoftmaxCrossEntropyOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                                   SmallVectorImpl<Value> &operandGradients) {
  Expr logits(b, getLoc(), getLogits()), g = logits.with(resultGradients[0]);
  operandGradients[0] = SoftmaxCrossEntropyGradOp::create(b, getLoc(), logits.type(), logits,
                                                          getLabels(), resultGradients[0]);
  if (isDistribution(getLabels())) {
    Expr logProbability = logits.with(LogSoftmaxOp::create(b, getLoc(), logits, 1));
    operandGradients[1] = -logProbability * g.broadcast(logits.type(), {0});
  }
  return success();
}

void SoftmaxCrossEntropyOp::evaluate(ArrayRef<HostTensor> operands,
                                     MutableArrayRef<HostTensor> results) {
  const HostTensor &logits = operands[0], &labels = operands[1];
  int64_t classes = logits.getShape()[1];
  for (int64_t n = 0; n < results[0].size(); ++n) {
    auto [log, maximum] = logSum(logits, n);
    bool distribution = isa<FloatType>(labels.getElementType());
    double loss = distribution ? 0 : log;
    for (int64_t c = 0; c < classes; ++c) {
      double x = logits.getFloat(n * classes + c) - maximum;
      double weight = labelWeight(labels, n, c, classes);
      if (distribution)
        loss += weight * (log - x);
      else if (weight != 0)
        loss -= x;
    }
    results[0].setFloat(n, loss);
  }
}

// Of 16-bit floats all is computed in f32: the sum of 70000 equal exponentials exceeds f16.
SmallVector<Value> SoftmaxCrossEntropyOp::decompose(OpBuilder &b) {
  Expr logits(b, getLoc(), getLogits());
  Type element = logits.element();
  Expr x = logits.wide();
  Expr maximum = x.with(ReduceMaxOp::create(b, getLoc(), x, 1));
  Expr s = x - maximum.broadcast(x.type(), {0});
  Expr log = s.apply<ExpOp>().sum(1).apply<LogOp>();
  if (isDistribution(getLabels())) {
    Expr labels = x.with(getLabels()).wide();
    return {(labels * (log.broadcast(x.type(), {0}) - s)).sum(1).cast(element)};
  }
  return {(log - labelLogit(logits, getLabels(), maximum)).cast(element)};
}

LogicalResult SoftmaxCrossEntropyGradOp::verify() {
  RankedTensorType logits = getLogits().getType();
  if (failed(checkLabels(logits, getLabels().getType(),
                         [&](const Twine &text) { return emitOpError(text); })))
    return failure();
  RankedTensorType expected = logits.clone(logits.getShape().take_front());
  if (getGradient().getType() != expected)
    return emitOpError("expected gradient ") << expected << ", found " << getGradient().getType();
  return success();
}

LogicalResult SoftmaxCrossEntropyGradOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                                       SmallVectorImpl<Value> &operandGradients) {
  return gradientByDecomposition(*this, b, resultGradients, operandGradients);
}

void SoftmaxCrossEntropyGradOp::evaluate(ArrayRef<HostTensor> operands,
                                         MutableArrayRef<HostTensor> results) {
  const HostTensor &logits = operands[0], &labels = operands[1], &gradient = operands[2];
  int64_t classes = logits.getShape()[1];
  for (int64_t n = 0; n < logits.getShape()[0]; ++n) {
    auto [log, maximum] = logSum(logits, n);
    double total = 0;
    for (int64_t c = 0; c < classes; ++c)
      total += labelWeight(labels, n, c, classes);
    if (!isDistribution(getLabels()))
      total = 1;
    for (int64_t c = 0; c < classes; ++c) {
      double probability = std::exp(logits.getFloat(n * classes + c) - maximum - log);
      double difference = probability * total - labelWeight(labels, n, c, classes);
      results[0].setFloat(n * classes + c, difference * gradient.getFloat(n));
    }
  }
}

SmallVector<Value> SoftmaxCrossEntropyGradOp::decompose(OpBuilder &b) {
  Type element = getLogits().getType().getElementType();
  Expr x = Expr(b, getLoc(), getLogits()).wide();
  Expr g = x.with(getGradient()).wide().broadcast(x.type(), {0});
  Expr maximum = x.with(ReduceMaxOp::create(b, getLoc(), x, 1));
  Expr e = (x - maximum.broadcast(x.type(), {0})).apply<ExpOp>();
  Expr p = e * (1.0 / e.sum(1)).broadcast(x.type(), {0});
  if (!isDistribution(getLabels()))
    return {(isLabel(x, getLabels()).select(p - 1, p) * g).cast(element)};
  Expr t = x.with(getLabels()).wide();
  return {((p * t.sum(1).broadcast(x.type(), {0}) - t) * g).cast(element)};
}

// Binary cross-entropy ----------------------------------------------------------------------------

LogicalResult BinaryCrossEntropyOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                                  SmallVectorImpl<Value> &operandGradients) {
  Expr x(b, getLoc(), getLogits()), y = x.with(getTargets()), g = x.with(resultGradients[0]);
  operandGradients[0] = (x.apply<SigmoidOp>() - y) * g;
  operandGradients[1] = -x * g;
  return success();
}

void BinaryCrossEntropyOp::evaluate(ArrayRef<HostTensor> operands,
                                    MutableArrayRef<HostTensor> results) {
  for (int64_t i = 0; i < results[0].size(); ++i) {
    double x = operands[0].getFloat(i), y = operands[1].getFloat(i);
    double positive = x > 0 || std::isnan(x) ? x : 0;
    results[0].setFloat(i, positive - x * y + std::log1p(std::exp(-std::abs(x))));
  }
}

SmallVector<Value> BinaryCrossEntropyOp::decompose(OpBuilder &b) {
  Expr x(b, getLoc(), getLogits()), y = x.with(getTargets());
  return {x.apply<ReluOp>() - x * y + (-x.apply<AbsOp>()).apply<ExpOp>().apply<Log1pOp>()};
}

// Squared error -----------------------------------------------------------------------------------

LogicalResult SquaredErrorOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                            SmallVectorImpl<Value> &operandGradients) {
  Expr x(b, getLoc(), getPredictions()), y = x.with(getTargets()), g = x.with(resultGradients[0]);
  Expr d = 2.0 * (x - y) * g;
  operandGradients[0] = d;
  operandGradients[1] = -d;
  return success();
}

void SquaredErrorOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  for (int64_t i = 0; i < results[0].size(); ++i) {
    double difference = operands[0].getFloat(i) - operands[1].getFloat(i);
    results[0].setFloat(i, difference * difference);
  }
}

SmallVector<Value> SquaredErrorOp::decompose(OpBuilder &b) {
  Expr difference = Expr(b, getLoc(), getPredictions()) - Expr(b, getLoc(), getTargets());
  return {difference * difference};
}
