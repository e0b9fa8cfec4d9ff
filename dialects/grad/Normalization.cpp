// Softmax and log-softmax: whole while a kernel may take them, else shifted exponentials over sums.
#include "dialects/grad/Build.h"

using namespace mlir;
using namespace mlir::grad;

static LogicalResult verifyDim(Operation *op, RankedTensorType type, int64_t dim) {
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError("expected dim in [0, ") << type.getRank() << "), found " << dim;
  if (type.getDimSize(dim) == 0)
    return op->emitOpError("expected at least one element to normalize, found dim ")
           << dim << " of size 0";
  return success();
}

/// `x` less its maximum along `dim`: the exponentials stay within (0, 1].
static Expr shifted(Expr x, int64_t dim, ArrayRef<int64_t> kept) {
  Expr maximum = x.with(ReduceMaxOp::create(x.getBuilder(), x.getLoc(), x, dim));
  return x - maximum.broadcast(x.type(), kept);
}

/// Calls `body(values)` with every line along `dim`; what it leaves there is the result.
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

// One division a line, not one an element.
SmallVector<Value> SoftmaxOp::decompose(OpBuilder &b) {
  int64_t dim = getDim();
  Expr x(b, getLoc(), getOperand());
  SmallVector<int64_t> kept = otherDims(x.type().getRank(), dim);
  Expr e = shifted(x, dim, kept).apply<ExpOp>();
  return {e * (1.0 / e.sum(dim)).broadcast(x.type(), kept)};
}

SmallVector<Value> LogSoftmaxOp::decompose(OpBuilder &b) {
  int64_t dim = getDim();
  Expr x(b, getLoc(), getOperand());
  SmallVector<int64_t> kept = otherDims(x.type().getRank(), dim);
  Expr s = shifted(x, dim, kept);
  return {s - s.apply<ExpOp>().sum(dim).apply<LogOp>().broadcast(x.type(), kept)};
}
