// Adds exponential moving averages of the weights to training steps; other entries read them.
#include "passes/Passes.h"

#include "dialects/grad/Build.h"
#include "passes/entry/Ports.h"
#include "passes/training/Averages.h"
#include "passes/training/TrainedStates.h"

#include "mlir/IR/SymbolTable.h"

namespace gradc {
#define GEN_PASS_DEF_AVERAGEWEIGHTS
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

namespace {

struct AverageWeights : gradc::impl::AverageWeightsBase<AverageWeights> {
  void runOnOperation() override;

private:
  LogicalResult average(func::FuncOp function);
  FailureOr<StateOp> averageOf(StateOp weight);

  SymbolTable *symbols = nullptr;
  DenseMap<StringAttr, StateOp> averages; ///< by the weight's symbol
};

} // namespace

/// The state of the weight's average, created on first use after the weight and its slots.
FailureOr<StateOp> AverageWeights::averageOf(StateOp weight) {
  StateOp &average = averages[weight.getSymNameAttr()];
  if (average)
    return average;
  std::string name = (weight.getSymName() + gradc::averageSuffix).str();
  if (Operation *existing = symbols->lookup(name))
    return existing->emitError("expected \"")
           << name << "\" to be free for the average of \"" << weight.getSymName() << "\"";
  Operation *last = weight;
  while (auto next = dyn_cast_or_null<StateOp>(last->getNextNode())) {
    if (next.getKind() != StateKind::slot)
      break;
    last = next;
  }
  OpBuilder after(weight.getContext());
  after.setInsertionPointAfter(last);
  average = cast<StateOp>(after.clone(*weight));
  average.setSymName(name);
  average.setKind(StateKind::average);
  symbols->insert(average);
  return average;
}

LogicalResult AverageWeights::average(func::FuncOp function) {
  auto decay = function->getAttrOfType<FloatAttr>("grad.average");
  if (!decay || !(decay.getValueAsDouble() >= 0 && decay.getValueAsDouble() < 1))
    return function.emitError("expected grad.average to be a float from 0 to below 1, found ")
           << function->getAttr("grad.average");
  Value proceed = gradc::resultOfRole(function, GRADC_ROLE_PROCEED);
  if (!proceed)
    return function.emitError("expected a result with role \"proceed\" beside grad.average: it is "
                              "for training steps");
  OpBuilder b(function.front().getTerminator());
  for (auto write : llvm::to_vector(function.getOps<WriteOp>())) {
    auto weight = symbols->lookup<StateOp>(write.getState());
    if (weight.getKind() != StateKind::parameter)
      continue;
    FailureOr<StateOp> state = averageOf(weight);
    if (failed(state))
      return failure();
    Expr updated(b, write.getLoc(), write.getValue());
    auto symbol = FlatSymbolRefAttr::get(state->getSymNameAttr());
    Expr old = updated.with(ReadOp::create(b, write.getLoc(), updated.type(), symbol));
    Expr moved = old + (updated - old) * (1 - decay.getValueAsDouble());
    Expr mask = old.with(proceed).broadcastScalar(old.type().clone(b.getI1Type()));
    WriteOp::create(b, write.getLoc(), symbol, mask.select(moved, old));
  }
  function->removeAttr("grad.average");
  return success();
}

void AverageWeights::runOnOperation() {
  ModuleOp module = getOperation();
  SymbolTable table(module);
  symbols = &table;
  averages.clear();
  SmallVector<func::FuncOp> others;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->removeAttr(gradc::watchName))
      continue; // it observes the weights that train
    if (!function->hasAttr("grad.average"))
      others.push_back(function);
    else if (failed(average(function)))
      return signalPassFailure();
  }
  for (func::FuncOp function : others)
    function.walk([&](ReadOp read) {
      if (StateOp average = averages.lookup(read.getStateAttr().getAttr()))
        read.setState(average.getSymName());
    });
}
