// Rules that scale each element by its past gradients.
#include "dialects/grad/training/Optimizer.h"

using namespace mlir;
using namespace mlir::grad;

// Adam --------------------------------------------------------------------------------------------

SmallVector<UpdateSlot> AdamOp::getUpdateSlots(RankedTensorType parameter,
                                               DictionaryAttr hyperparameters) {
  SmallVector<UpdateSlot> slots = {{"first", parameter}, {"second", parameter}};
  if (hyperparameters.contains("amsgrad"))
    slots.push_back({"largest", parameter});
  return slots;
}

void AdamOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double b2 = real(getBeta2()), epsilon = real(getEpsilon());
  evaluateUpdate(*this, operands, results, [&](UpdateElement &e) {
    double b1 = getCycled() ? e.momentum : real(getBeta1());
    double first = b1 * e.slots[0] + (1 - b1) * e.gradient;
    double second = b2 * e.slots[1] + (1 - b2) * e.gradient * e.gradient, scale = second;
    e.slots[0] = first;
    e.slots[1] = second;
    if (getAmsgrad())
      scale = e.slots[2] = std::max(e.slots[2], second);
    double root = std::sqrt(biasCorrection(e.step, b2));
    double denominator =
        getKeras() ? (std::sqrt(scale) + epsilon) / root : std::sqrt(scale) / root + epsilon;
    e.parameter -= e.rate / biasCorrection(e.step, b1) * first / denominator;
  });
}

SmallVector<Value> AdamOp::decompose(OpBuilder &b) {
  double b1 = real(getBeta1()), b2 = real(getBeta2()), epsilon = real(getEpsilon());
  return decomposeUpdate(b, *this, [&](const UpdateExprs &u) {
    Expr first = getCycled() ? u.slots[0] * u.spread(u.momentum()) +
                                   u.gradient * u.spread(1.0 - u.momentum())
                             : u.slots[0] * b1 + u.gradient * (1 - b1);
    Expr second = u.slots[1] * b2 + u.gradient * u.gradient * (1 - b2), scale = second;
    SmallVector<Expr> results = {first, first, second};
    if (getAmsgrad())
      results.push_back(scale = u.slots[2].apply<MaxOp>(second));
    Expr correction =
        getCycled() ? biasCorrection(u.step(), u.momentum()) : biasCorrection(u.step(), b1);
    Expr size = u.spread(u.rate() / correction);
    Expr root = u.spread(biasCorrection(u.step(), b2).apply<RsqrtOp>());
    Expr denominator = getKeras() ? (scale.apply<SqrtOp>() + epsilon) * root
                                  : scale.apply<SqrtOp>() * root + epsilon;
    results[0] = u.decayed - size * first / denominator;
    return results;
  });
}

// Nadam -------------------------------------------------------------------------------------------

SmallVector<UpdateSlot> NadamOp::getUpdateSlots(RankedTensorType parameter, DictionaryAttr) {
  return {{"first", parameter},
          {"second", parameter},
          {"product", parameter.clone(ArrayRef<int64_t>()), 1}};
}

void NadamOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double b1 = real(getBeta1()), b2 = real(getBeta2()), epsilon = real(getEpsilon());
  double decay = real(getMomentumDecay());
  evaluateUpdate(*this, operands, results, [&](UpdateElement &e) {
    auto momentum = [&](double t) { return b1 * (1 - 0.5 * std::pow(0.96, t * decay)); };
    double now = momentum(e.step), next = momentum(e.step + 1), product = e.slots[2] * now;
    double first = b1 * e.slots[0] + (1 - b1) * e.gradient;
    double second = b2 * e.slots[1] + (1 - b2) * e.gradient * e.gradient;
    double denominator = std::sqrt(second / biasCorrection(e.step, b2)) + epsilon;
    e.parameter -= e.rate * (1 - now) / (1 - product) * e.gradient / denominator;
    e.parameter -= e.rate * next / (1 - product * next) * first / denominator;
    e.slots = {first, second, product};
  });
}

SmallVector<Value> NadamOp::decompose(OpBuilder &b) {
  double b1 = real(getBeta1()), b2 = real(getBeta2());
  double fall = real(getMomentumDecay()) * std::log(0.96);
  return decomposeUpdate(b, *this, [&](const UpdateExprs &u) -> SmallVector<Expr> {
    auto momentum = [&](Expr t) { return b1 - (t * fall).apply<ExpOp>() * (0.5 * b1); };
    Expr now = momentum(u.step()), next = momentum(u.step() + 1.0);
    Expr product = u.slots[2] * now.cast(u.slots[2].element());
    Expr total = product.cast(now.element());
    Expr first = u.slots[0] * b1 + u.gradient * (1 - b1);
    Expr second = u.slots[1] * b2 + u.gradient * u.gradient * (1 - b2);
    Expr root = u.spread(biasCorrection(u.step(), b2).apply<RsqrtOp>());
    Expr denominator = second.apply<SqrtOp>() * root + real(getEpsilon());
    Expr ofGradient = u.spread(u.rate() * (1.0 - now) / (1.0 - total));
    Expr ofFirst = u.spread(u.rate() * next / (1.0 - total * next));
    Expr updated = u.decayed - (ofGradient * u.gradient + ofFirst * first) / denominator;
    return {updated, first, second, product};
  });
}

// RMSprop -----------------------------------------------------------------------------------------

SmallVector<UpdateSlot> RmspropOp::getUpdateSlots(RankedTensorType parameter,
                                                  DictionaryAttr hyperparameters) {
  SmallVector<UpdateSlot> slots = {{"square", parameter}};
  if (hyperparameters.contains("centered"))
    slots.push_back({"average", parameter});
  auto momentum = hyperparameters.getAs<FloatAttr>("momentum");
  if (momentum && momentum.getValueAsDouble() > 0)
    slots.push_back({"velocity", parameter, 0, hyperparameters.contains("keras")});
  return slots;
}

void RmspropOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double alpha = real(getAlpha()), epsilon = real(getEpsilon()), mu = real(getMomentum());
  evaluateUpdate(*this, operands, results, [&](UpdateElement &e) {
    double g = e.gradient, square = alpha * e.slots[0] + (1 - alpha) * g * g, variance = square;
    e.slots[0] = square;
    if (getCentered()) {
      double average = alpha * e.slots[1] + (1 - alpha) * g;
      variance = std::max(square - average * average, 0.0);
      e.slots[1] = average;
    }
    double update = getKeras() ? e.rate * g / std::sqrt(variance + epsilon)
                               : g / (std::sqrt(variance) + epsilon);
    if (mu > 0)
      update = e.slots.back() = mu * e.slots.back() + update;
    e.parameter -= getKeras() ? update : e.rate * update;
  });
}

SmallVector<Value> RmspropOp::decompose(OpBuilder &b) {
  double alpha = real(getAlpha()), epsilon = real(getEpsilon()), mu = real(getMomentum());
  return decomposeUpdate(b, *this, [&](const UpdateExprs &u) {
    Expr g = u.gradient, rate = u.spread(u.rate());
    Expr square = u.slots[0] * alpha + g * g * (1 - alpha), variance = square;
    SmallVector<Expr> results = {square, square};
    if (getCentered()) {
      Expr average = u.slots[1] * alpha + g * (1 - alpha);
      variance = (square - average * average).apply<MaxOp>(square.splat(0));
      results.push_back(average);
    }
    Expr update = getKeras() ? rate * g * (variance + epsilon).apply<RsqrtOp>()
                             : g / (variance.apply<SqrtOp>() + epsilon);
    if (mu > 0)
      results.push_back(update = u.slots.back() * mu + update);
    results[0] = u.decayed - (getKeras() ? update : rate * update);
    return results;
  });
}

// Adagrad -----------------------------------------------------------------------------------------

SmallVector<UpdateSlot> AdagradOp::getUpdateSlots(RankedTensorType parameter,
                                                  DictionaryAttr hyperparameters) {
  auto initial = hyperparameters.getAs<FloatAttr>("initial_accumulator");
  return {{"sum", parameter, initial ? initial.getValueAsDouble() : 0}};
}

/// The root is above 0 by epsilon.
bool AdagradOp::keepsWithoutGradient(DictionaryAttr hyperparameters) {
  auto epsilon = hyperparameters.getAs<FloatAttr>("epsilon");
  return !hasDecay(hyperparameters) && epsilon && epsilon.getValueAsDouble() > 0;
}

void AdagradOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double epsilon = real(getEpsilon()), decay = real(getLearningRateDecay());
  evaluateUpdate(*this, operands, results, [&](UpdateElement &e) {
    double sum = e.slots[0] + e.gradient * e.gradient;
    double root = getKeras() ? std::sqrt(sum + epsilon) : std::sqrt(sum) + epsilon;
    e.parameter -= e.rate / (1 + (e.step - 1) * decay) * e.gradient / root;
    e.slots[0] = sum;
  });
}

SmallVector<Value> AdagradOp::decompose(OpBuilder &b) {
  double epsilon = real(getEpsilon()), decay = real(getLearningRateDecay());
  return decomposeUpdate(b, *this, [&](const UpdateExprs &u) -> SmallVector<Expr> {
    Expr sum = u.slots[0] + u.gradient * u.gradient;
    Expr root = getKeras() ? (sum + epsilon).apply<SqrtOp>() : sum.apply<SqrtOp>() + epsilon;
    Expr rate = decay == 0 ? u.rate() : u.rate() / ((u.step() - 1.0) * decay + 1.0);
    return {u.decayed - u.spread(rate) * u.gradient / root, sum};
  });
}

// Adadelta ----------------------------------------------------------------------------------------

void AdadeltaOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double rho = real(getRho()), epsilon = real(getEpsilon());
  evaluateUpdate(*this, operands, results, [&](UpdateElement &e) {
    double square = rho * e.slots[0] + (1 - rho) * e.gradient * e.gradient;
    double update = std::sqrt(e.slots[1] + epsilon) / std::sqrt(square + epsilon) * e.gradient;
    e.parameter -= e.rate * update;
    e.slots = {square, rho * e.slots[1] + (1 - rho) * update * update};
  });
}

SmallVector<Value> AdadeltaOp::decompose(OpBuilder &b) {
  double rho = real(getRho()), epsilon = real(getEpsilon());
  return decomposeUpdate(b, *this, [&](const UpdateExprs &u) -> SmallVector<Expr> {
    Expr square = u.slots[0] * rho + u.gradient * u.gradient * (1 - rho);
    Expr ratio = (u.slots[1] + epsilon).apply<SqrtOp>() / (square + epsilon).apply<SqrtOp>();
    Expr update = ratio * u.gradient;
    return {u.decayed - u.spread(u.rate()) * update, square,
            u.slots[1] * rho + update * update * (1 - rho)};
  });
}
