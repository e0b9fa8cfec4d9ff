// Adds exponential moving averages of the weights to training steps; other entries read them.
#include "passes/Passes.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/CastElements.h"
#include "passes/entry/Functions.h"
#include "passes/entry/Ports.h"
#include "passes/training/Averages.h"
#include "passes/training/Pruning.h"
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
  Value maskOf(StateOp weight, func::FuncOp function);

  SymbolTable *symbols = nullptr;
  DenseMap<StringAttr, StateOp> averages; ///< by the weight's symbol
};

} // namespace

/// The state of the weight's average, created on first use after the weight and its slots. That of
/// 16-bit floats is f32: they would round most of (1 - decay) (weight - average) away.
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
  auto type = cast<RankedTensorType>(weight.getType());
  if (Type wide = accumulatorOf(type.getElementType()); wide != type.getElementType()) {
    average.setType(type.clone(wide));
    average.setInitialAttr(castElements(HostTensor(weight.getInitial()), wide).toAttribute(name));
  }
  symbols->insert(average);
  return average;
}

/// The mask that the function writes for the weight; null: the weight is not pruned.
Value AverageWeights::maskOf(StateOp weight, func::FuncOp function) {
  auto mask = symbols->lookup<StateOp>((weight.getSymName() + "." + gradc::maskName).str());
  auto rule = mask ? mask->getAttrOfType<StringAttr>(gradc::slotRuleName) : StringAttr();
  if (!rule || rule.getValue() != gradc::pruneRule)
    return {};
  for (auto write : function.getOps<WriteOp>())
    if (write.getState() == mask.getSymName())
      return write.getValue();
  return {};
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
    Expr updated =
        Expr(b, write.getLoc(), write.getValue()).cast(getElementTypeOrSelf(state->getType()));
    auto symbol = FlatSymbolRefAttr::get(state->getSymNameAttr());
    Expr old = updated.with(ReadOp::create(b, write.getLoc(), updated.type(), symbol));
    Expr moved = old + (updated - old) * (1 - decay.getValueAsDouble());
    // Evaluation and exports, which read averages, see the zeros as well.
    if (Value kept = maskOf(weight, function))
      moved = moved.with(kept).select(moved, moved.splat(0));
    Expr mask = old.with(proceed).broadcastScalar(old.type().clone(b.getI1Type()));
    WriteOp::create(b, write.getLoc(), symbol, mask.select(moved, old));
  }
  function->removeAttr("grad.average");
  return success();
}

/// Lets the read return the average in the weight's type.
static void readAverage(ReadOp read, StateOp average) {
  read.setState(average.getSymName());
  RankedTensorType type = read.getType(), stored = cast<RankedTensorType>(average.getType());
  if (type == stored)
    return;
  OpBuilder b(read.getContext());
  b.setInsertionPointAfter(read);
  read.getResult().setType(stored);
  auto rounded = CastOp::create(b, read.getLoc(), type, read.getResult());
  read.getResult().replaceAllUsesExcept(rounded, rounded);
}

void AverageWeights::runOnOperation() {
  ModuleOp module = getOperation();
  SymbolTable table(module);
  symbols = &table;
  averages.clear();
  SmallVector<func::FuncOp> others;
  for (auto function : gradc::functionsOf(module)) {
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
        readAverage(read, average);
    });
}
