// The common part of all updates: operands, decay, and steps that do not proceed.
#include "dialects/grad/training/Optimizer.h"

using namespace mlir;
using namespace mlir::grad;

LogicalResult grad::verifyUpdate(Operation *op) {
  auto update = cast<UpdateOpInterface>(op);
  auto parameter = cast<RankedTensorType>(op->getOperand(0).getType());
  SmallVector<UpdateSlot> slots = update.getUpdateSlots(parameter, op->getAttrDictionary());
  size_t scalars = update.getUpdateScalars(op->getAttrDictionary()).size();
  size_t operands = 2 + slots.size() + scalars + 1;
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
  for (Value scalar : op->getOperands().drop_front(2 + slots.size()).drop_back())
    if (cast<RankedTensorType>(scalar.getType()).getRank() != 0)
      return op->emitOpError("expected scalars behind the slots, found ") << scalar.getType();
  return success();
}

/// The decay. An op printed without a decay lacks the attribute.
static double decayOf(Operation *op, StringRef name) {
  auto value = op->getAttrOfType<FloatAttr>(name);
  return value ? value.getValueAsDouble() : 0;
}

bool grad::hasDecay(DictionaryAttr hyperparameters) {
  return llvm::any_of(ArrayRef<StringRef>{"l2", "weight_decay"}, [&](StringRef name) {
    auto value = hyperparameters.getAs<FloatAttr>(name);
    return value && !value.getValue().isZero();
  });
}

// Evaluation --------------------------------------------------------------------------------------

void grad::evaluateWholeUpdate(Operation *op, ArrayRef<HostTensor> operands,
                               MutableArrayRef<HostTensor> results,
                               llvm::function_ref<void(UpdateTensors &)> rule) {
  size_t slots = results.size() - 1;
  if (!operands.back().getInt(0)) {
    results[0] = operands[0];
    for (size_t i = 0; i < slots; ++i)
      results[1 + i] = operands[2 + i];
    return;
  }
  auto load = [](const HostTensor &tensor) {
    std::vector<double> values(size_t(tensor.size()));
    for (int64_t i = 0; i < tensor.size(); ++i)
      values[size_t(i)] = tensor.getFloat(i);
    return values;
  };
  UpdateTensors all{load(operands[0]), load(operands[1]), {}, 0, 0, 0, 1};
  for (size_t i = 0; i < slots; ++i)
    all.slots.push_back(load(operands[2 + i]));
  ArrayRef<HostTensor> scalars = operands.drop_front(2 + slots).drop_back();
  all.rate = scalars[0].getFloat(0);
  all.step = scalars.size() > 1 ? scalars[1].getFloat(0) : 0;
  all.momentum = scalars.back().getFloat(0);
  double l2 = decayOf(op, "l2");
  for (auto [g, p] : llvm::zip_equal(all.gradient, all.parameter))
    g += l2 * p;
  all.kept = 1 - all.rate * decayOf(op, "weight_decay");
  rule(all);
  auto store = [](HostTensor &tensor, const std::vector<double> &values) {
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.setFloat(i, values[size_t(i)]);
  };
  store(results[0], all.parameter);
  for (size_t i = 0; i < slots; ++i)
    store(results[1 + i], all.slots[i]);
}

void grad::evaluateUpdate(Operation *op, ArrayRef<HostTensor> operands,
                          MutableArrayRef<HostTensor> results,
                          llvm::function_ref<void(UpdateElement &)> rule) {
  evaluateWholeUpdate(op, operands, results, [&](UpdateTensors &all) {
    SmallVector<std::vector<double>> old = all.slots;
    for (size_t i = 0; i < all.parameter.size(); ++i) {
      auto place = [&](const std::vector<double> &slot) { return slot.size() == 1 ? 0 : i; };
      UpdateElement element{
          all.parameter[i] * all.kept, all.gradient[i], {}, all.rate, all.step, all.momentum};
      for (const std::vector<double> &slot : old)
        element.slots.push_back(slot[place(slot)]);
      rule(element);
      all.parameter[i] = element.parameter;
      for (auto [slot, value] : llvm::zip_equal(all.slots, element.slots))
        slot[place(slot)] = value;
    }
  });
}

double grad::biasCorrection(double step, double base) { return -std::expm1(step * std::log(base)); }

// Decomposition -----------------------------------------------------------------------------------

/// `updated` if the step proceeds, else `old`.
static Value keepUnless(Expr old, Value proceed, Expr updated) {
  RankedTensorType mask = old.type().clone(old.getBuilder().getI1Type());
  return old.with(proceed).broadcastScalar(mask).select(updated, old);
}

SmallVector<Value>
grad::decomposeUpdate(OpBuilder &builder, Operation *op,
                      llvm::function_ref<SmallVector<Expr>(const UpdateExprs &)> rule) {
  Expr parameter(builder, op->getLoc(), op->getOperand(0));
  Expr gradient = parameter.with(op->getOperand(1));
  if (double l2 = decayOf(op, "l2"))
    gradient = gradient + parameter * l2;
  UpdateExprs all{parameter, gradient, parameter, {}, {}};
  unsigned slots = op->getNumResults() - 1;
  for (Value value : op->getOperands().drop_front(2).drop_back())
    (all.slots.size() < slots ? all.slots : all.scalars).push_back(parameter.with(value));
  // Expressions of scalars only are computed once.
  if (double decay = decayOf(op, "weight_decay"))
    all.decayed = parameter * all.spread(1.0 - all.rate() * decay);
  SmallVector<Value> results;
  Value proceed = op->getOperands().back();
  for (auto [i, updated] : llvm::enumerate(rule(all)))
    results.push_back(keepUnless(i ? all.slots[i - 1] : parameter, proceed, updated));
  return results;
}

Expr grad::biasCorrection(Expr step, double base) {
  return -(step * std::log(base)).apply<Expm1Op>();
}
Expr grad::biasCorrection(Expr step, Expr base) {
  return -(step * base.apply<LogOp>()).apply<Expm1Op>();
}
