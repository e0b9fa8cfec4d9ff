// Optimizer updates, as PyTorch computes them: elementwise formulas over broadcast scalars.
#include "dialects/grad/Build.h"

using namespace mlir;
using namespace mlir::grad;

/// A scalar operand as a tensor of the parameter's type.
static Expr overParameter(Expr parameter, Expr scalar) {
  return scalar.cast(parameter.type().getElementType()).broadcastScalar(parameter.type());
}

/// `updated` if the step proceeds, else `old`.
static Value keepUnless(Expr old, Value proceed, Expr updated) {
  RankedTensorType mask = old.type().clone(old.getBuilder().getI1Type());
  return old.with(proceed).broadcastScalar(mask).select(updated, old);
}

/// g + l2 p
static Expr withL2(Expr gradient, Expr parameter, double l2) {
  return l2 == 0 ? gradient : gradient + parameter * l2;
}

/// 1 - base^t, exact at small t.
static Expr biasCorrection(Expr step, double base) {
  return -(step * std::log(base)).apply<Expm1Op>();
}

/// Copies `count` operands to the results if the step does not proceed.
static bool stays(const HostTensor &proceed, ArrayRef<const HostTensor *> old,
                  MutableArrayRef<HostTensor> results) {
  if (proceed.getInt(0))
    return false;
  for (auto [result, value] : llvm::zip_equal(results, old))
    result = *value;
  return true;
}

// SGD ---------------------------------------------------------------------------------------------

LogicalResult SgdOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return failure();
}

void SgdOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &parameter = operands[0], &gradient = operands[1];
  if (stays(operands[3], {&parameter}, results))
    return;
  double rate = operands[2].getFloat(0), l2 = getL2().convertToDouble();
  for (int64_t i = 0; i < parameter.size(); ++i) {
    double p = parameter.getFloat(i);
    results[0].setFloat(i, p - rate * (gradient.getFloat(i) + l2 * p));
  }
}

SmallVector<Value> SgdOp::decompose(OpBuilder &b) {
  Expr p(b, getLoc(), getParameter());
  Expr g = withL2(p.with(getGradient()), p, getL2().convertToDouble());
  Expr rate = overParameter(p, p.with(getLearningRate()));
  return {keepUnless(p, getProceed(), p - rate * g)};
}

// Momentum ----------------------------------------------------------------------------------------

LogicalResult MomentumOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return failure();
}

void MomentumOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &parameter = operands[0], &gradient = operands[1], &velocity = operands[2];
  if (stays(operands[4], {&parameter, &velocity}, results))
    return;
  double rate = operands[3].getFloat(0), mu = getMomentum().convertToDouble();
  double l2 = getL2().convertToDouble();
  for (int64_t i = 0; i < parameter.size(); ++i) {
    double p = parameter.getFloat(i), g = gradient.getFloat(i) + l2 * p;
    double v = mu * velocity.getFloat(i) + g;
    results[0].setFloat(i, p - rate * (getNesterov() ? g + mu * v : v));
    results[1].setFloat(i, v);
  }
}

SmallVector<Value> MomentumOp::decompose(OpBuilder &b) {
  double mu = getMomentum().convertToDouble();
  Expr p(b, getLoc(), getParameter()), velocity = p.with(getVelocity());
  Expr g = withL2(p.with(getGradient()), p, getL2().convertToDouble());
  Expr v = velocity * mu + g;
  Expr direction = getNesterov() ? g + v * mu : v;
  Expr rate = overParameter(p, p.with(getLearningRate()));
  return {keepUnless(p, getProceed(), p - rate * direction), keepUnless(velocity, getProceed(), v)};
}

// Adam --------------------------------------------------------------------------------------------

LogicalResult AdamOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return failure();
}

void AdamOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &parameter = operands[0], &gradient = operands[1];
  const HostTensor &first = operands[2], &second = operands[3];
  if (stays(operands[6], {&parameter, &first, &second}, results))
    return;
  double rate = operands[4].getFloat(0), step = operands[5].getFloat(0);
  double b1 = getBeta1().convertToDouble(), b2 = getBeta2().convertToDouble();
  double correction1 = -std::expm1(step * std::log(b1));
  double correction2 = -std::expm1(step * std::log(b2));
  double epsilon = getEpsilon().convertToDouble(), l2 = getL2().convertToDouble();
  double decay = getWeightDecay().convertToDouble();
  for (int64_t i = 0; i < parameter.size(); ++i) {
    double p = parameter.getFloat(i), g = gradient.getFloat(i) + l2 * p;
    double m = b1 * first.getFloat(i) + (1 - b1) * g;
    double v = b2 * second.getFloat(i) + (1 - b2) * g * g;
    p *= 1 - rate * decay;
    p -= rate / correction1 * m / (std::sqrt(v / correction2) + epsilon);
    results[0].setFloat(i, p);
    results[1].setFloat(i, m);
    results[2].setFloat(i, v);
  }
}

// Expressions that depend only on the step are computed once, as scalars.
SmallVector<Value> AdamOp::decompose(OpBuilder &b) {
  double b1 = getBeta1().convertToDouble(), b2 = getBeta2().convertToDouble();
  double decay = getWeightDecay().convertToDouble();
  Expr p(b, getLoc(), getParameter()), first = p.with(getFirst()), second = p.with(getSecond());
  Expr g = withL2(p.with(getGradient()), p, getL2().convertToDouble());
  Expr rate = p.with(getLearningRate()), step = p.with(getStep());
  Expr m = first * b1 + g * (1 - b1);
  Expr v = second * b2 + g * g * (1 - b2);
  Expr size = overParameter(p, rate / biasCorrection(step, b1));
  Expr scale = overParameter(p, biasCorrection(step, b2).apply<RsqrtOp>());
  Expr denominator = v.apply<SqrtOp>() * scale + getEpsilon().convertToDouble();
  Expr decayed = decay == 0 ? p : p * overParameter(p, 1.0 - rate * decay);
  Expr updated = decayed - size * m / denominator;
  return {keepUnless(p, getProceed(), updated), keepUnless(first, getProceed(), m),
          keepUnless(second, getProceed(), v)};
}
