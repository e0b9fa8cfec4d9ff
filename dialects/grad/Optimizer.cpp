// Optimizer updates, as PyTorch computes them: elementwise formulas over broadcast scalars.
#include "dialects/grad/Build.h"

using namespace mlir;
using namespace mlir::grad;

LogicalResult grad::verifyUpdate(Operation *op) {
  auto update = cast<UpdateOpInterface>(op);
  auto parameter = cast<RankedTensorType>(op->getOperand(0).getType());
  SmallVector<UpdateSlot> slots = update.getUpdateSlots(parameter, op->getAttrDictionary());
  size_t operands = 2 + slots.size() + update.getUpdateScalars().size() + 1;
  if (op->getNumOperands() != operands || op->getNumResults() != 1 + slots.size())
    return op->emitOpError("expected ")
           << operands << " operands and " << 1 + slots.size() << " results, " << slots.size()
           << " of each for slots, found " << op->getNumOperands() << " and "
           << op->getNumResults();
  auto expect = [&](Type found, StringRef what, RankedTensorType expected) -> LogicalResult {
    if (found == expected)
      return success();
    return op->emitOpError("expected ") << what << " to be " << expected << ", found " << found;
  };
  if (failed(expect(op->getOperand(1).getType(), "the gradient", parameter)) ||
      failed(expect(op->getResult(0).getType(), "the new parameter", parameter)))
    return failure();
  for (auto [i, slot] : llvm::enumerate(slots))
    if (failed(expect(op->getOperand(2 + i).getType(), slot.name, slot.type)) ||
        failed(expect(op->getResult(1 + i).getType(), slot.name, slot.type)))
      return failure();
  return success();
}

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

// RMSprop -----------------------------------------------------------------------------------------

SmallVector<UpdateSlot> RmspropOp::getUpdateSlots(RankedTensorType parameter,
                                                  DictionaryAttr hyperparameters) {
  SmallVector<UpdateSlot> slots = {{"square", parameter}};
  if (hyperparameters.contains("centered"))
    slots.push_back({"average", parameter});
  auto momentum = hyperparameters.getAs<FloatAttr>("momentum");
  if (momentum && momentum.getValueAsDouble() > 0)
    slots.push_back({"velocity", parameter});
  return slots;
}

SmallVector<StringRef> RmspropOp::getUpdateScalars() { return {"learning_rate"}; }

void RmspropOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  size_t slots = getSlots().size();
  const HostTensor &parameter = operands[0], &gradient = operands[1];
  ArrayRef<HostTensor> old = operands.slice(2, slots);
  SmallVector<const HostTensor *> kept = {&parameter};
  for (const HostTensor &slot : old)
    kept.push_back(&slot);
  if (stays(operands.back(), kept, results))
    return;
  double rate = operands[2 + slots].getFloat(0), alpha = getAlpha().convertToDouble();
  double epsilon = getEpsilon().convertToDouble(), l2 = getL2().convertToDouble();
  double mu = getMomentum().convertToDouble();
  for (int64_t i = 0; i < parameter.size(); ++i) {
    double p = parameter.getFloat(i), g = gradient.getFloat(i) + l2 * p;
    double square = alpha * old[0].getFloat(i) + (1 - alpha) * g * g, variance = square;
    results[1].setFloat(i, square);
    if (getCentered()) {
      double average = alpha * old[1].getFloat(i) + (1 - alpha) * g;
      variance = std::max(square - average * average, 0.0);
      results[2].setFloat(i, average);
    }
    double update = g / (std::sqrt(variance) + epsilon);
    if (mu > 0) {
      update += mu * old.back().getFloat(i);
      results.back().setFloat(i, update);
    }
    results[0].setFloat(i, p - rate * update);
  }
}

SmallVector<Value> RmspropOp::decompose(OpBuilder &b) {
  double alpha = getAlpha().convertToDouble(), mu = getMomentum().convertToDouble();
  Expr p(b, getLoc(), getParameter());
  Expr g = withL2(p.with(getGradient()), p, getL2().convertToDouble());
  Expr square = p.with(getSlots()[0]) * alpha + g * g * (1 - alpha), variance = square;
  SmallVector<Value> results = {Value(), square};
  if (getCentered()) {
    Expr average = p.with(getSlots()[1]) * alpha + g * (1 - alpha);
    variance = (square - average * average).apply<MaxOp>(p.splat(0));
    results.push_back(average);
  }
  Expr update = g / (variance.apply<SqrtOp>() + getEpsilon().convertToDouble());
  if (mu > 0) {
    update = p.with(getSlots().back()) * mu + update;
    results.push_back(update);
  }
  results[0] = p - overParameter(p, p.with(getLearningRate())) * update;
  results[0] = keepUnless(p, getProceed(), p.with(results[0]));
  for (auto [old, result] : llvm::zip_equal(getSlots(), MutableArrayRef(results).drop_front()))
    result = keepUnless(p.with(old), getProceed(), p.with(result));
  return results;
}
