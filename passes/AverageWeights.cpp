// Adds averages of the weights to training steps, exponential or equal ones; other entries read
// them.
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

/// How far the averages of a function move towards the updated weights.
class Motion {
public:
  /// Parses `grad.average`: the decay of an exponential average, or the steps of an equal one.
  static FailureOr<Motion> of(func::FuncOp function, OpBuilder &b);

  /// Whether averages change in this step.
  Value changes() const { return moves; }
  Expr move(Expr old, Expr updated) const;

private:
  LogicalResult countSteps(func::FuncOp function, OpBuilder &b, int64_t begin, int64_t every);

  double share = 0; ///< of an exponential average: how much of the way
  Value count;      ///< of an equal one: how many weights are in it; null: exponential
  Value isFirst;    ///< whether it is the weights themselves
  Value moves;
};

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

FailureOr<Motion> Motion::of(func::FuncOp function, OpBuilder &b) {
  Attribute given = function->getAttr("grad.average");
  auto decay = dyn_cast<FloatAttr>(given);
  auto steps = dyn_cast<DictionaryAttr>(given);
  auto begin = steps ? steps.getAs<IntegerAttr>("begin") : IntegerAttr();
  auto every = steps ? steps.getAs<IntegerAttr>("every") : IntegerAttr();
  bool isDecay = decay && decay.getValueAsDouble() >= 0 && decay.getValueAsDouble() < 1;
  if (!isDecay && !(begin && every && begin.getInt() > 0 && every.getInt() > 0))
    return function.emitError("expected grad.average to be a float from 0 to below 1, or `begin` "
                              "and `every` above 0, found ")
           << given;
  Motion motion;
  motion.moves = gradc::resultOfRole(function, GRADC_ROLE_PROCEED);
  if (!motion.moves)
    return function.emitError("expected a result with role \"proceed\" beside grad.average: it is "
                              "for training steps");
  if (isDecay)
    motion.share = 1 - decay.getValueAsDouble();
  else if (failed(motion.countSteps(function, b, begin.getInt(), every.getInt())))
    return failure();
  return motion;
}

/// Up to the step `begin`, the average is the weights. Then it takes them every `every` steps.
LogicalResult Motion::countSteps(func::FuncOp function, OpBuilder &b, int64_t begin,
                                 int64_t every) {
  Value step = gradc::argumentOfRole(function, GRADC_ROLE_STEP);
  if (!step)
    return function.emitError("expected an argument with role \"step\" beside an equal average");
  Expr since = Expr(b, function.getLoc(), step).cast(b.getI64Type()) - double(begin);
  Expr zero = since.splat(0);
  since = since.compare(ComparePredicate::gt, zero).select(since, zero);
  Expr before = since / double(every);
  Expr isTurn = (before * double(every)).compare(ComparePredicate::eq, since);
  count = before + 1.0;
  isFirst = since.compare(ComparePredicate::eq, zero);
  moves = isTurn.apply<AndOp>(moves);
  return success();
}

Expr Motion::move(Expr old, Expr updated) const {
  if (!count)
    return old + (updated - old) * share;
  Expr part = 1.0 / old.with(count).cast(old.element());
  Expr moved = old + (updated - old) * part.broadcastScalar(old.type());
  Expr takes = old.with(isFirst).broadcastScalar(old.type().clone(old.getBuilder().getI1Type()));
  return takes.select(updated, moved);
}

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
  OpBuilder b(function.front().getTerminator());
  FailureOr<Motion> motion = Motion::of(function, b);
  if (failed(motion))
    return failure();
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
    Expr moved = motion->move(old, updated);
    // Evaluation and exports, which read averages, see the zeros as well.
    if (Value kept = maskOf(weight, function))
      moved = moved.with(kept).select(moved, moved.splat(0));
    Expr mask = old.with(motion->changes()).broadcastScalar(old.type().clone(b.getI1Type()));
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
