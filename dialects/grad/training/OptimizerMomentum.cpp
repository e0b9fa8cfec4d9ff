// Rules that follow the gradient or a running sum of gradients.
#include "dialects/grad/training/Optimizer.h"

using namespace mlir;
using namespace mlir::grad;

// SGD ---------------------------------------------------------------------------------------------

bool SgdOp::keepsWithoutGradient(DictionaryAttr hyperparameters) {
  return !hasDecay(hyperparameters);
}

void SgdOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  evaluateUpdate(*this, operands, results,
                 [](UpdateElement &e) { e.parameter -= e.rate * e.gradient; });
}

SmallVector<Value> SgdOp::decompose(OpBuilder &b) {
  return decomposeUpdate(b, *this, [](const UpdateExprs &u) -> SmallVector<Expr> {
    return {u.decayed - u.spread(u.rate()) * u.gradient};
  });
}

// Momentum ----------------------------------------------------------------------------------------

SmallVector<UpdateSlot> MomentumOp::getUpdateSlots(RankedTensorType parameter,
                                                   DictionaryAttr hyperparameters) {
  return {{"velocity", parameter, 0, hyperparameters.contains("keras")}};
}

void MomentumOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double dampening = real(getDampening());
  evaluateUpdate(*this, operands, results, [&](UpdateElement &e) {
    double mu = getCycled() ? e.momentum : real(getMomentum());
    double g = e.gradient * (getKeras() ? e.rate : 1);
    double v = mu * e.slots[0] + g * (e.step == 1 ? 1 : 1 - dampening);
    double update = getNesterov() ? g + mu * v : v;
    e.parameter -= getKeras() ? update : e.rate * update;
    e.slots[0] = v;
  });
}

SmallVector<Value> MomentumOp::decompose(OpBuilder &b) {
  double dampening = real(getDampening());
  return decomposeUpdate(b, *this, [&](const UpdateExprs &u) -> SmallVector<Expr> {
    Expr rate = u.spread(u.rate()), g = getKeras() ? rate * u.gradient : u.gradient, added = g;
    if (dampening != 0) {
      Expr one = u.step().splat(1), isFirst = u.step().compare(ComparePredicate::eq, one);
      added = g * u.spread(isFirst.select(one, one.splat(1 - dampening)));
    }
    auto lessen = [&](Expr value) {
      return getCycled() ? value * u.spread(u.momentum()) : value * real(getMomentum());
    };
    Expr v = lessen(u.slots[0]) + added;
    Expr update = getNesterov() ? g + lessen(v) : v;
    return {u.decayed - (getKeras() ? update : rate * update), v};
  });
}

// Lion --------------------------------------------------------------------------------------------

void LionOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double b1 = real(getBeta1()), b2 = real(getBeta2());
  evaluateUpdate(*this, operands, results, [&](UpdateElement &e) {
    double direction = b1 * e.slots[0] + (1 - b1) * e.gradient;
    e.parameter -= e.rate * double((direction > 0) - (direction < 0));
    e.slots[0] = b2 * e.slots[0] + (1 - b2) * e.gradient;
  });
}

SmallVector<Value> LionOp::decompose(OpBuilder &b) {
  double b1 = real(getBeta1()), b2 = real(getBeta2());
  return decomposeUpdate(b, *this, [&](const UpdateExprs &u) -> SmallVector<Expr> {
    Expr direction = (u.slots[0] * b1 + u.gradient * (1 - b1)).apply<SignOp>();
    return {u.decayed - u.spread(u.rate()) * direction, u.slots[0] * b2 + u.gradient * (1 - b2)};
  });
}
