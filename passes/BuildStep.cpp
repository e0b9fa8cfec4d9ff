// Turns functions with a loss and an optimizer into training steps.
#include "passes/Passes.h"

#include "dialects/grad/Build.h"
#include "passes/distribution/DataParallel.h"
#include "passes/distribution/MicroBatches.h"
#include "passes/entry/Functions.h"
#include "passes/entry/Ports.h"
#include "passes/training/Clipping.h"
#include "passes/training/Reach.h"
#include "passes/training/RowUpdates.h"
#include "passes/training/StepAttributes.h"
#include "passes/training/TrainedStates.h"
#include "passes/training/Updates.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace gradc {
#define GEN_PASS_DEF_BUILDSTEP
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

namespace {

/// Builds one training function's step.
class StepBuilder {
public:
  StepBuilder(func::FuncOp function, gradc::UpdateRule rule, bool forCuda)
      : function(function), exit(function.front().getTerminator()), b(exit), forCuda(forCuda),
        ranks(gradc::DataParallel::of(function)),
        updates(function, rule, /*isCut=*/ranks && ranks->cutsParameters()) {}

  LogicalResult build(const DenseSet<StringAttr> &trained);
  /// Returns gradients in place of updates.
  LogicalResult watch();

private:
  LogicalResult findRowUpdates(ArrayRef<Value> parameters);
  FailureOr<SmallVector<Value>> requestGradients(ArrayRef<Value> parameters, bool isInParts);
  FailureOr<SmallVector<Value>> findGradients(ArrayRef<Value> parameters, bool isUpdated);
  LogicalResult clip(ArrayRef<Value> parameters, MutableArrayRef<Value> gradients);
  void requireIndices();
  void guardStatistics();
  void addResult(Value value, gradc_role role) {
    gradc::addResult(function, value, gradc_role_name(role), gradc_role_name(role));
  }

  func::FuncOp function;
  Operation *exit;
  OpBuilder b;
  bool forCuda;
  std::unique_ptr<gradc::DataParallel> ranks; ///< null: there is one
  gradc::Updates updates;
  /// For each parameter of which the step updates some rows: the reads of its rows and, once they
  /// are requested, their gradients.
  DenseMap<Value, gradc::RowReads> rowReads;
  DenseMap<Value, gradc::RowGradient> rowGradients;
  Value scale; ///< of the loss; null: none
  Value proceed;
};

struct BuildStep : gradc::impl::BuildStepBase<BuildStep> {
  using BuildStepBase::BuildStepBase;
  void runOnOperation() override;
};

} // namespace

/// The loss, result 0; null, with an error, if it is not a float scalar.
static Value lossOf(func::FuncOp function) {
  Operation *exit = function.front().getTerminator();
  Value loss = exit->getNumOperands() ? exit->getOperand(0) : Value();
  auto type = loss ? dyn_cast<RankedTensorType>(loss.getType()) : RankedTensorType();
  if (type && type.getRank() == 0 && isa<FloatType>(type.getElementType()))
    return loss;
  InFlightDiagnostic error =
      function.emitError("expected the loss, a float scalar, as result 0, found ");
  loss ? error << loss.getType() : error << "no result";
  return {};
}

/// One read of every parameter, in order of first reads.
static SmallVector<Value> parameterReads(func::FuncOp function) {
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  SmallVector<Value> reads;
  DenseMap<StringAttr, ReadOp> first;
  for (auto read : llvm::make_early_inc_range(function.getOps<ReadOp>())) {
    StringAttr name = read.getStateAttr().getAttr();
    auto state = symbols.lookup<StateOp>(name);
    if (!state || state.getKind() != StateKind::parameter)
      continue;
    auto [known, isNew] = first.try_emplace(name, read);
    if (isNew) {
      reads.push_back(read.getResult());
      continue;
    }
    // A parameter that is used twice has one gradient.
    read.getResult().replaceAllUsesWith(known->second.getResult());
    read.erase();
  }
  return reads;
}

void BuildStep::runOnOperation() {
  ModuleOp module = getOperation();
  // 1. Which functions train, and which parameters the loss of one of them reaches.
  SmallVector<std::pair<func::FuncOp, gradc::UpdateRule>> steps;
  DenseSet<StringAttr> trained;
  DenseMap<StringAttr, gradc::Reach> unreached;
  for (auto function : gradc::functionsOf(module)) {
    if (!function->hasAttr(updateRuleName))
      continue;
    FailureOr<gradc::UpdateRule> rule = gradc::UpdateRule::parse(function);
    Value loss = failed(rule) ? Value() : lossOf(function);
    if (!loss)
      return signalPassFailure();
    steps.push_back({function, *rule});
    SmallVector<Value> reads = parameterReads(function);
    for (auto [read, reach] : llvm::zip_equal(reads, gradc::findReach(loss, reads))) {
      FlatSymbolRefAttr symbol = read.getDefiningOp<ReadOp>().getStateAttr();
      StringAttr name = symbol.getAttr();
      if (!gradc::isTrainedBy(function, symbol))
        continue;
      // A missing gradient is for the differentiate pass to report, not to train without.
      if (reach.arrival == gradc::Arrival::arrives || reach.arrival == gradc::Arrival::missing)
        trained.insert(name);
      else
        unreached.try_emplace(name, reach);
    }
  }
  if (steps.empty())
    return;

  // 2. The other parameters stay as they are.
  for (auto state : module.getOps<StateOp>()) {
    if (state.getKind() != StateKind::parameter || trained.contains(state.getSymNameAttr()))
      continue;
    state.setKind(StateKind::constant);
    InFlightDiagnostic remark = state.emitRemark("the loss does not reach parameter \"")
                                << state.getSymName() << "\": it stays constant";
    if (Operation *op = unreached.lookup(state.getSymNameAttr()).op)
      remark.attachNote(op->getLoc()) << "the gradient stops at " << op->getName();
  }

  // 3. The steps.
  for (auto [function, rule] : steps) {
    StepBuilder builder(function, rule, cuda);
    if (failed(function->hasAttr(gradc::watchName) ? builder.watch() : builder.build(trained)))
      return signalPassFailure();
  }
  for (auto state : module.getOps<StateOp>()) {
    state->removeAttr(updateRuleName);
    state->removeAttr(gradc::stepsName);
    state->removeAttr(gradc::rateName);
    state->removeAttr(gradc::lazyName);
    state->removeAttr(gradc::pruneName);
  }
}

LogicalResult StepBuilder::build(const DenseSet<StringAttr> &trained) {
  if (failed(updates.findScalars(updates.common())))
    return failure();
  SmallVector<Value> parameters = llvm::filter_to_vector(parameterReads(function), [&](Value v) {
    FlatSymbolRefAttr symbol = v.getDefiningOp<ReadOp>().getStateAttr();
    return trained.contains(symbol.getAttr()) && gradc::isTrainedBy(function, symbol);
  });
  if (failed(findRowUpdates(parameters)))
    return failure();
  FailureOr<SmallVector<Value>> found = findGradients(parameters, /*isUpdated=*/true);
  if (failed(found))
    return failure();
  SmallVector<Value> &gradients = *found;
  for (auto [parameter, gradient] : llvm::zip_equal(parameters, gradients))
    if (failed(updates.maskGradient(b, parameter.getDefiningOp<ReadOp>(), gradient)))
      return failure();
  Value loss = lossOf(function);
  proceed = IsFiniteOp::create(b, loss.getLoc(), loss);
  if (failed(clip(parameters, gradients)))
    return failure();
  requireIndices();
  guardStatistics();
  for (auto [parameter, gradient] : llvm::zip_equal(parameters, gradients)) {
    auto rows = rowGradients.find(parameter);
    if (failed(updates.build(b, parameter.getDefiningOp<ReadOp>(), gradient, proceed,
                             rows == rowGradients.end() ? nullptr : &rows->second)))
      return failure();
  }
  addResult(proceed, GRADC_ROLE_PROCEED);
  function->removeAttr(updateRuleName);
  function->removeAttr("grad.clip");
  function->removeAttr(gradc::trainsName);
  return success();
}

LogicalResult StepBuilder::watch() {
  auto watched = function->getAttrOfType<ArrayAttr>(gradc::watchName);
  SmallVector<Value> parameters = llvm::filter_to_vector(parameterReads(function), [&](Value v) {
    return llvm::is_contained(watched, v.getDefiningOp<ReadOp>().getStateAttr());
  });
  FailureOr<SmallVector<Value>> gradients = findGradients(parameters, /*isUpdated=*/false);
  if (failed(gradients))
    return failure();
  // Nothing changes, and nothing else is returned but what says whether indices are in range.
  for (auto write : llvm::make_early_inc_range(function.getOps<WriteOp>()))
    write.erase();
  for (unsigned i = exit->getNumOperands(); i-- > 0;)
    if (gradc::roleOfResult(function, i) != gradc_role_name(GRADC_ROLE_INDICES)) {
      exit->eraseOperand(i);
      (void)function.eraseResult(i);
    }
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  for (auto [parameter, gradient] : llvm::zip_equal(parameters, *gradients)) {
    auto state = symbols.lookup<StateOp>(parameter.getDefiningOp<ReadOp>().getState());
    Expr g(b, gradient.getLoc(), state.toLogical(b, gradient));
    Value value = g.cast(b.getF32Type());
    gradc::addResult(function, value, state.getSymName(), gradc_role_name(GRADC_ROLE_GRADIENT));
  }
  for (StringRef name :
       {StringRef(updateRuleName), StringRef("grad.clip"), StringRef(gradc::trainsName)})
    function->removeAttr(name);
  return success();
}

/// Finds the parameters of which the step updates only the rows that it reads.
LogicalResult StepBuilder::findRowUpdates(ArrayRef<Value> parameters) {
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  for (Value parameter : parameters) {
    auto read = parameter.getDefiningOp<ReadOp>();
    auto owner = symbols.lookup<StateOp>(read.getState());
    if (owner->hasAttr(gradc::pruneName)) // its elements compete, whether they are read or not
      continue;
    FailureOr<gradc::UpdateRule> rule = updates.ruleOf(owner);
    if (failed(rule))
      return failure();
    gradc::RowReads reads = gradc::RowReads::of(read);
    FailureOr<bool> byRows = gradc::updatesByRows(function, owner, *rule, reads, forCuda);
    if (failed(byRows))
      return failure();
    if (*byRows)
      rowReads.try_emplace(parameter, std::move(reads));
  }
  return success();
}

/// The gradients of the loss, times its scale. For a parameter that is updated by rows, those of
/// its rows: no gradient of the whole parameter exists.
FailureOr<SmallVector<Value>> StepBuilder::requestGradients(ArrayRef<Value> parameters,
                                                            bool isInParts) {
  SmallVector<Value> whole;
  gradc::RowsRead reads;
  for (Value parameter : parameters) {
    auto byRows = rowReads.find(parameter);
    if (byRows == rowReads.end()) {
      whole.push_back(parameter);
      continue;
    }
    for (RowsOpInterface read : byRows->second.ops) {
      reads.values.push_back(read->getResult(0));
      reads.rows.push_back(read.getRows());
    }
  }
  FailureOr<SmallVector<Value>> found = SmallVector<Value>();
  if (isInParts) {
    found = gradc::accumulateGradients(function, whole, reads, ranks.get());
  } else {
    SmallVector<Value> targets = whole;
    llvm::append_range(targets, reads.values);
    found = gradc::requestGradients(b, lossOf(function), targets, scale);
    llvm::copy(ArrayRef(*found).drop_front(whole.size()), reads.values.begin());
  }
  if (failed(found))
    return failure();
  ArrayRef<Value> sums = *found, rows = reads.rows, values = reads.values;
  SmallVector<Value> gradients;
  for (Value parameter : parameters) {
    auto byRows = rowReads.find(parameter);
    if (byRows == rowReads.end()) {
      gradients.push_back(sums.consume_front());
      continue;
    }
    size_t count = byRows->second.ops.size();
    auto united = gradc::RowGradient::unite(b, parameter, rows.take_front(count),
                                            values.take_front(count), forCuda);
    rows = rows.drop_front(count);
    values = values.drop_front(count);
    rowGradients.try_emplace(parameter, united);
    gradients.push_back(united.values);
  }
  return gradients;
}

/// The unscaled gradients of the loss over the whole batch. For updates, a rank that updates only
/// its own parts gets only these parts.
FailureOr<SmallVector<Value>> StepBuilder::findGradients(ArrayRef<Value> parameters,
                                                         bool isUpdated) {
  scale = gradc::argumentOfRole(function, GRADC_ROLE_LOSS_SCALE);
  if (ranks && failed(ranks->begin()))
    return failure();
  bool isInParts = function->hasAttr(gradc::microBatchesName);
  FailureOr<SmallVector<Value>> gradients = SmallVector<Value>();
  if (isInParts)
    gradients = requestGradients(parameters, isInParts);
  else if (ranks)
    ranks->shareLoss();
  if (ranks && succeeded(gradients))
    ranks->sumResults();
  if (!isInParts)
    gradients = requestGradients(parameters, isInParts);
  if (ranks && succeeded(gradients)) {
    if (!isUpdated || !ranks->cutsParameters())
      ranks->sumGradients(*gradients);
    else if (failed(ranks->scatterGradients(parameters, *gradients)))
      return failure();
    ranks->sumLoss();
  }
  if (failed(gradients) || !scale)
    return gradients;
  Expr inverse = 1 / Expr(b, function.getLoc(), scale);
  // In f32: without its scale, a small gradient would be 0 in f16.
  for (Value &gradient : *gradients) {
    Expr g = Expr(b, gradient.getLoc(), gradient).wide();
    gradient = g * inverse.cast(g.element()).broadcastScalar(g.type());
  }
  return gradients;
}

/// A step with an index out of range changes nothing; the runtime reports the index.
void StepBuilder::requireIndices() {
  for (auto [i, result] : llvm::enumerate(exit->getOperands())) {
    if (gradc::roleOfResult(function, i) != gradc_role_name(GRADC_ROLE_INDICES))
      continue;
    Expr largest(b, result.getLoc(), result);
    auto limit = function.getResultAttrOfType<IntegerAttr>(i, "grad.classes");
    // With a negative limit the result is no index: it is 0 if the step is valid.
    double below = limit.getInt() < 0 ? 1 : 2 * double(limit.getInt());
    Expr isInside = largest.compare(ComparePredicate::lt, largest.splat(below));
    Value holds = ranks ? ranks->onAll(isInside) : isInside.get();
    proceed = AndOp::create(b, result.getLoc(), proceed, holds);
  }
}

/// Keeps the old running statistics, which the forward pass writes, if the step does not proceed.
void StepBuilder::guardStatistics() {
  // One read per state: a kernel that writes in place must see the old value as a single operand.
  DenseMap<StringAttr, Value> reads;
  for (auto read : function.getOps<ReadOp>())
    reads.try_emplace(read.getStateAttr().getAttr(), read);
  for (auto write : llvm::to_vector(function.getOps<WriteOp>())) {
    Expr value(b, write.getLoc(), write.getValue());
    Expr mask = value.with(proceed).broadcastScalar(value.type().clone(b.getI1Type()));
    Value &old = reads[write.getStateAttr().getAttr()];
    if (!old)
      old = ReadOp::create(b, write.getLoc(), value.type(), write.getStateAttr());
    write.getValueMutable().assign(mask.select(value, old));
    write->moveBefore(exit);
  }
}

/// Clips gradients, and returns their norm as a result. A non-finite norm stops the step. A loss
/// scale needs the norm as well, to detect overflow.
LogicalResult StepBuilder::clip(ArrayRef<Value> parameters, MutableArrayRef<Value> gradients) {
  Attribute attribute = function->getAttr("grad.clip");
  if (!attribute && !scale)
    return success();
  FailureOr<gradc::Clipping> clipping = gradc::Clipping();
  if (attribute)
    clipping = gradc::Clipping::parse(function, attribute);
  if (failed(clipping))
    return failure();
  Location location = function.getLoc();
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  bool areCut = ranks && ranks->cutsParameters();
  auto isPart = [&](size_t i) {
    StringRef name = parameters[i].getDefiningOp<ReadOp>().getState();
    return areCut || symbols.lookup<StateOp>(name).getShard();
  };
  auto sum = [&](Value part) -> Value {
    return areCut ? ranks->sum(part) : SumShardsOp::create(b, location, part).getResult(0);
  };
  Value norm = clipping->build(Expr(b, location, lossOf(function)), gradients, isPart, sum);
  proceed = AndOp::create(b, location, proceed, IsFiniteOp::create(b, location, norm));
  addResult(norm, GRADC_ROLE_GRADIENT_NORM);
  return success();
}
