// Softmax and log-softmax as shifted exponentials over their sum, and normalization to mean 0 and
// variance 1.
#include "dialects/grad/Permute.h"
#include "dialects/grad/math/Count.h"
#include "dialects/grad/math/Reduction.h"

using namespace mlir;
using namespace mlir::grad;

// Softmax -----------------------------------------------------------------------------------------

static LogicalResult verifyDim(Operation *op, RankedTensorType type, int64_t dim) {
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError("expected dim in [0, ") << type.getRank() << "), found " << dim;
  if (type.getDimSize(dim) == 0)
    return op->emitOpError("expected at least one element to normalize, found dim ")
           << dim << " of size 0";
  return success();
}

/// `x` minus its maximum along `dim`: the exponentials stay within (0, 1].
static Expr shifted(Expr x, int64_t dim, ArrayRef<int64_t> kept) {
  Expr maximum = x.with(ReduceMaxOp::create(x.getBuilder(), x.getLoc(), x, dim));
  return x - maximum.broadcast(x.type(), kept);
}

/// Calls `body(values)` for each line along `dim`; `body` computes the result in place.
static void evaluateLines(const HostTensor &operand, HostTensor &result, int64_t dim,
                          llvm::function_ref<void(MutableArrayRef<double>)> body) {
  SmallVector<int64_t> starts(operand.getShape());
  int64_t n = starts[dim];
  starts[dim] = 1;
  std::vector<double> line(n);
  forEachIndex(starts, [&](ArrayRef<int64_t> start) {
    SmallVector<int64_t> index(start);
    auto position = [&](int64_t i) {
      index[dim] = i;
      return linearize(index, operand.getShape());
    };
    for (int64_t i = 0; i < n; ++i)
      line[i] = operand.getFloat(position(i));
    body(line);
    for (int64_t i = 0; i < n; ++i)
      result.setFloat(position(i), line[i]);
  });
}

/// The maximum of a line (NaN wins) and the sum of its exponentials shifted by it.
static std::pair<double, double> maximumAndSum(ArrayRef<double> line) {
  double maximum = line[0], sum = 0;
  for (double x : line)
    maximum = x > maximum || std::isnan(x) ? x : maximum;
  for (double x : line)
    sum += std::exp(x - maximum);
  return {maximum, sum};
}

LogicalResult SoftmaxOp::verify() { return verifyDim(*this, getOperand().getType(), getDim()); }
LogicalResult LogSoftmaxOp::verify() { return verifyDim(*this, getOperand().getType(), getDim()); }

int64_t SoftmaxOp::getFlops() { return 5 * getResult().getType().getNumElements(); }
int64_t LogSoftmaxOp::getFlops() { return 5 * getResult().getType().getNumElements(); }

// dx = y (g - sum(g y))
LogicalResult SoftmaxOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                       SmallVectorImpl<Value> &operandGradients) {
  int64_t dim = getDim();
  Expr g(b, getLoc(), resultGradients[0]), y = g.with(getResult());
  SmallVector<int64_t> kept = otherDims(y.type().getRank(), dim);
  operandGradients[0] = y * (g - (g * y).sum(dim).broadcast(y.type(), kept));
  return success();
}

// dx = g - e^y sum(g)
LogicalResult LogSoftmaxOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                          SmallVectorImpl<Value> &operandGradients) {
  int64_t dim = getDim();
  Expr g(b, getLoc(), resultGradients[0]), y = g.with(getResult());
  SmallVector<int64_t> kept = otherDims(y.type().getRank(), dim);
  operandGradients[0] = g - y.apply<ExpOp>() * g.sum(dim).broadcast(y.type(), kept);
  return success();
}

void SoftmaxOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  evaluateLines(operands[0], results[0], getDim(), [](MutableArrayRef<double> line) {
    auto [maximum, sum] = maximumAndSum(line);
    for (double &x : line)
      x = std::exp(x - maximum) / sum;
  });
}

void LogSoftmaxOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  evaluateLines(operands[0], results[0], getDim(), [](MutableArrayRef<double> line) {
    auto [maximum, sum] = maximumAndSum(line);
    for (double &x : line)
      x = x - maximum - std::log(sum);
  });
}

// One division per line instead of one per element. The sum of 70000 equal exponentials exceeds
// f16.
SmallVector<Value> SoftmaxOp::decompose(OpBuilder &b) {
  int64_t dim = getDim();
  Type element = getType().getElementType();
  Expr x = Expr(b, getLoc(), getOperand()).wide();
  SmallVector<int64_t> kept = otherDims(x.type().getRank(), dim);
  Expr e = shifted(x, dim, kept).apply<ExpOp>();
  return {(e * (1.0 / e.sum(dim)).broadcast(x.type(), kept)).cast(element)};
}

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &b) {
  int64_t dim = getDim();
  Type element = getType().getElementType();
  Expr x = Expr(b, getLoc(), getOperand()).wide();
  SmallVector<int64_t> kept = otherDims(x.type().getRank(), dim);
  Expr s = shifted(x, dim, kept);
  Expr result = s - s.apply<ExpOp>().sum(dim).apply<LogOp>().broadcast(x.type(), kept);
  return {result.cast(element)};
}

// Mean and variance -------------------------------------------------------------------------------

LogicalResult NormalizeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  double epsilon = adaptor.getEpsilon().convertToDouble();
  if (!(epsilon >= 0))
    return emitOptionalError(loc, "expected an epsilon of 0 or more, found ", epsilon);
  if (adaptor.getDims().empty())
    return emitOptionalError(loc, "expected at least one dim to normalize over, found none");
  Type wide = accumulatorOf(getElementTypeOrSelf(adaptor.getOperand()));
  if (Value count = adaptor.getCount(); count && getElementTypeOrSelf(count) != wide)
    return emitOptionalError(loc, "expected a count of ", wide, ", found ", count.getType());
  types.push_back(adaptor.getOperand().getType());
  SmallVector<Type> reduced;
  if (failed(inferReduced(loc, adaptor.getOperand(), adaptor.getDims(), /*empty=*/false, reduced)))
    return failure();
  types.append(2, cast<RankedTensorType>(reduced[0]).clone(wide));
  return success();
}

int64_t NormalizeOp::getFlops() { return 6 * getOperand().getType().getNumElements(); }

/// 1 / (number of elements per mean).
static double oneOverCount(NormalizeOp op, ArrayRef<HostTensor> operands) {
  if (op.getCount())
    return 1 / operands[1].getFloat(0);
  return double(op.getMean().getType().getNumElements()) /
         op.getOperand().getType().getNumElements();
}

/// A value of the op in the type of its mean.
static Expr widened(NormalizeOp op, Expr value) {
  return value.cast(op.getMean().getType().getElementType());
}

/// `factor` times the means of tensors like the op's widened operand over the op's dims. With
/// `count`, means are over all ranks, with one collective for all tensors.
static SmallVector<Expr> meansOf(NormalizeOp op, ArrayRef<Expr> tensors, double factor = 1) {
  SmallVector<Value> sums =
      llvm::map_to_vector(tensors, [&](Expr e) { return e.sum(op.getDims()).get(); });
  Expr x = tensors.front().with(op.getOperand());
  SmallVector<Expr> means;
  if (!op.getCount()) {
    for (Value sum : sums)
      means.push_back(overCount(x.with(sum), x, op.getDims(), factor));
    return means;
  }
  auto totals = AllReduceOp::create(x.getBuilder(), op.getLoc(), sums, /*bf16=*/false);
  Expr share = factor / x.with(op.getCount());
  for (Value total : totals.getResults())
    means.push_back(x.with(total) * share.broadcastScalar(x.with(total).type()));
  return means;
}

// Gradients of x: through the result, rstd (g - mean(g) - y mean(g y)); through the mean, g / n;
// through the variance, g 2 (x - mean) / n.
LogicalResult NormalizeOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  Expr operand(b, getLoc(), getOperand()), x = widened(*this, operand);
  RankedTensorType type = x.type();
  if (type.getNumElements() == 0)
    return success();
  SmallVector<int64_t> kept = otherDims(type.getRank(), getDims());
  // A gradient of the mean or the variance applies equally to the elements of all ranks.
  auto shared = [&](Value g, double factor = 1) {
    Expr e = x.with(g);
    if (!getCount())
      return overCount(e, operand, getDims(), factor).broadcast(type, kept);
    Expr total = e.with(AllReduceOp::create(b, getLoc(), g, /*bf16=*/false).getResult(0));
    Expr share = factor / x.with(getCount());
    return (total * share.broadcastScalar(total.type())).broadcast(type, kept);
  };
  Value dx;
  auto add = [&](Expr part) { dx = dx ? (x.with(dx) + part).get() : part.get(); };
  if (Value g = resultGradients[0]) {
    Expr rstd = (x.with(getVariance()) + getEpsilon().convertToDouble()).apply<RsqrtOp>();
    Expr dy = widened(*this, x.with(g)), y = widened(*this, x.with(getResult()));
    SmallVector<Expr> means = meansOf(*this, {dy, dy * y});
    Expr shift = means[0].broadcast(type, kept), slope = means[1].broadcast(type, kept);
    add(rstd.broadcast(type, kept) * (dy - shift - y * slope));
  }
  if (Value g = resultGradients[1])
    add(shared(g));
  if (Value g = resultGradients[2]) {
    Expr centred = x - x.with(getMean()).broadcast(type, kept);
    add(shared(g, 2) * centred);
  }
  if (dx)
    operandGradients[0] = x.with(dx).cast(operand.element());
  return success();
}

void NormalizeOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &x = operands[0];
  SmallVector<int64_t> kept = otherDims(x.getType().getRank(), getDims());
  auto forEach = [&](llvm::function_ref<void(int64_t line, int64_t position)> body) {
    int64_t position = 0;
    forEachIndex(x.getShape(), [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> at;
      for (int64_t d : kept)
        at.push_back(index[d]);
      body(linearize(at, results[1].getShape()), position++);
    });
  };
  double share = oneOverCount(*this, operands), epsilon = getEpsilon().convertToDouble();
  std::vector<double> means(results[1].size()), variances(results[1].size());
  forEach([&](int64_t line, int64_t i) { means[line] += x.getFloat(i) * share; });
  forEach([&](int64_t line, int64_t i) {
    double centred = x.getFloat(i) - means[line];
    variances[line] += centred * centred * share;
  });
  forEach([&](int64_t line, int64_t i) {
    double centred = x.getFloat(i) - means[line];
    results[0].setFloat(i, centred / std::sqrt(variances[line] + epsilon));
  });
  for (int64_t line = 0; line < results[1].size(); ++line) {
    results[1].setFloat(line, means[line]);
    results[2].setFloat(line, variances[line]);
  }
}

SmallVector<Value> NormalizeOp::decompose(OpBuilder &b) {
  Expr operand(b, getLoc(), getOperand()), x = widened(*this, operand);
  RankedTensorType type = x.type();
  SmallVector<int64_t> kept = otherDims(type.getRank(), getDims());
  Expr mean = meansOf(*this, x).front();
  Expr centred = x - mean.broadcast(type, kept);
  Expr variance = meansOf(*this, centred * centred).front();
  Expr rstd = (variance + getEpsilon().convertToDouble()).apply<RsqrtOp>();
  Expr result = centred * rstd.broadcast(type, kept);
  return {result.cast(operand.element()), mean, variance};
}

// Transpositions ----------------------------------------------------------------------------------

Operation *SoftmaxOp::buildPermuted(OpBuilder &b, ValueRange operands,
                                    ArrayRef<int64_t> permutation) {
  return create(b, getLoc(), operands[0], permuteDim(getDim(), permutation));
}
Operation *LogSoftmaxOp::buildPermuted(OpBuilder &b, ValueRange operands,
                                       ArrayRef<int64_t> permutation) {
  return create(b, getLoc(), operands[0], permuteDim(getDim(), permutation));
}
Operation *NormalizeOp::buildPermuted(OpBuilder &b, ValueRange operands,
                                      ArrayRef<int64_t> permutation) {
  return create(b, getLoc(), operands[0], getCount(), permuteSet(getDims(), permutation),
                getEpsilon());
}
SmallVector<int64_t> NormalizeOp::getReducedDims() { return SmallVector<int64_t>(getDims()); }
