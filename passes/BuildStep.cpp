// Turns functions with a loss and an optimizer into training steps.
#include "passes/Passes.h"

#include "dialects/grad/Build.h"
#include "passes/support/Reach.h"
#include "runtime/include/gradc/roles.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

namespace gradc {
#define GEN_PASS_DEF_BUILDSTEP
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

namespace {

/// The content of `grad.optimizer`: an update op by its name, and its attributes.
struct OptimizerSpec {
  OperationName op;
  DictionaryAttr hyperparameters;

  static FailureOr<OptimizerSpec> parse(func::FuncOp function);
  const UpdateOpInterface::Concept &rule() const { return *op.getInterface<UpdateOpInterface>(); }
};

/// Builds one training function's step.
class StepBuilder {
public:
  StepBuilder(func::FuncOp function, OptimizerSpec spec)
      : function(function), spec(spec), exit(function.front().getTerminator()), b(exit),
        module(function->getParentOfType<ModuleOp>()), symbols(module) {}

  LogicalResult build(const DenseSet<StringAttr> &trained);

private:
  LogicalResult findScalars();
  void clip(MutableArrayRef<Value> gradients, double limit);
  void requireIndices();
  void guardStatistics();
  LogicalResult update(ReadOp parameter, Value gradient);
  FailureOr<Value> slot(ReadOp parameter, const UpdateSlot &slot);
  void addResult(Value value, gradc_role role);

  func::FuncOp function;
  OptimizerSpec spec;
  Operation *exit;
  OpBuilder b;
  ModuleOp module;
  SymbolTable symbols;
  SmallVector<Value> scalars; ///< that the update takes
  Value proceed;
};

struct BuildStep : gradc::impl::BuildStepBase<BuildStep> {
  void runOnOperation() override;
};

} // namespace

/// The names of all update ops: "adam, momentum, ...".
static std::string listUpdates(MLIRContext *context) {
  SmallVector<StringRef> names;
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (op.hasInterface<UpdateOpInterface>())
      names.push_back(op.stripDialect());
  llvm::sort(names);
  return llvm::join(names, ", ");
}

FailureOr<OptimizerSpec> OptimizerSpec::parse(func::FuncOp function) {
  auto spec = function->getAttrOfType<DictionaryAttr>("grad.optimizer");
  auto name = spec ? spec.getAs<StringAttr>("name") : StringAttr();
  MLIRContext *context = function.getContext();
  OperationName op("grad." + (name ? name.getValue() : "").str(), context);
  if (!op.hasInterface<UpdateOpInterface>())
    return function.emitError("expected grad.optimizer to name one of ")
           << listUpdates(context) << ", found " << function->getAttr("grad.optimizer");
  NamedAttrList hyperparameters(spec);
  hyperparameters.erase("name");
  for (NamedAttribute given : hyperparameters)
    if (!llvm::is_contained(op.getAttributeNames(), given.getName()))
      return function.emitError("expected the hyperparameters of grad.")
             << name.getValue() << " in grad.optimizer, found `" << given.getName().strref() << "`";
  if (failed(op.verifyInherentAttrs(hyperparameters, [&] { return function.emitError(); })))
    return failure();
  return OptimizerSpec{op, hyperparameters.getDictionary(context)};
}

/// The loss is result 0; null with an error where it is not a float scalar.
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

/// One read of every parameter, in the order of first reads.
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
  SmallVector<std::pair<func::FuncOp, OptimizerSpec>> steps;
  DenseSet<StringAttr> trained;
  DenseMap<StringAttr, gradc::Reach> unreached;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr("grad.optimizer"))
      continue;
    FailureOr<OptimizerSpec> spec = OptimizerSpec::parse(function);
    Value loss = failed(spec) ? Value() : lossOf(function);
    if (!loss)
      return signalPassFailure();
    steps.push_back({function, *spec});
    SmallVector<Value> reads = parameterReads(function);
    for (auto [read, reach] : llvm::zip_equal(reads, gradc::findReach(loss, reads))) {
      StringAttr name = read.getDefiningOp<ReadOp>().getStateAttr().getAttr();
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
  for (auto [function, spec] : steps)
    if (failed(StepBuilder(function, spec).build(trained)))
      return signalPassFailure();
}

LogicalResult StepBuilder::findScalars() {
  for (StringRef role : spec.rule().getUpdateScalars()) {
    Value found;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto attribute = function.getArgAttrOfType<StringAttr>(i, "grad.role");
          attribute && attribute == role)
        found = function.getArgument(i);
    if (!found)
      return function.emitError("expected an argument with role \"") << role << "\", found none";
    auto type = dyn_cast<RankedTensorType>(found.getType());
    if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
      return function.emitError("expected the argument with role \"")
             << role << "\" to be a float scalar, found " << found.getType();
    scalars.push_back(found);
  }
  return success();
}

LogicalResult StepBuilder::build(const DenseSet<StringAttr> &trained) {
  if (failed(findScalars()))
    return failure();
  Value loss = lossOf(function);
  SmallVector<Value> parameters = llvm::filter_to_vector(parameterReads(function), [&](Value v) {
    return trained.contains(v.getDefiningOp<ReadOp>().getStateAttr().getAttr());
  });
  SmallVector<Value> gradients;
  if (!parameters.empty())
    llvm::append_range(gradients,
                       GradientOp::create(b, loss.getLoc(), loss, parameters).getResults());
  proceed = IsFiniteOp::create(b, loss.getLoc(), loss);
  if (auto limits = function->getAttrOfType<DictionaryAttr>("grad.clip")) {
    auto limit = limits.getAs<FloatAttr>("global_norm");
    if (!limit || !(limit.getValueAsDouble() > 0))
      return function.emitError("expected grad.clip with a positive float `global_norm`, found ")
             << limits;
    clip(gradients, limit.getValueAsDouble());
  }
  requireIndices();
  guardStatistics();
  for (auto [parameter, gradient] : llvm::zip_equal(parameters, gradients))
    if (failed(update(parameter.getDefiningOp<ReadOp>(), gradient)))
      return failure();
  addResult(proceed, GRADC_ROLE_PROCEED);
  function->removeAttr("grad.optimizer");
  function->removeAttr("grad.clip");
  return success();
}

/// A step with an index out of range leaves everything as it was; the runtime says which.
void StepBuilder::requireIndices() {
  for (auto [i, result] : llvm::enumerate(exit->getOperands())) {
    auto role = function.getResultAttrOfType<StringAttr>(i, "grad.role");
    if (!role || role.getValue() != gradc_role_name(GRADC_ROLE_INDICES))
      continue;
    Expr largest(b, result.getLoc(), result);
    auto limit = function.getResultAttrOfType<IntegerAttr>(i, "grad.classes");
    Expr isInside =
        largest.compare(ComparePredicate::lt, largest.splat(2 * double(limit.getInt())));
    proceed = AndOp::create(b, result.getLoc(), proceed, isInside);
  }
}

/// Running statistics, which the forward writes, stay as they were where the step does not proceed.
void StepBuilder::guardStatistics() {
  // A kernel that writes in place knows the old value by one name only.
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

/// Scales all gradients by min(1, limit / (norm + 1e-6)), as PyTorch's clip_grad_norm_.
void StepBuilder::clip(MutableArrayRef<Value> gradients, double limit) {
  Expr loss(b, function.getLoc(), lossOf(function));
  Value total;
  for (Value gradient : gradients) {
    Expr g = Expr(b, gradient.getLoc(), gradient).cast(loss.type().getElementType());
    // The last dim first: the rows are independent, so that threads may share them.
    int64_t rank = g.type().getRank();
    Expr squares = g * g;
    if (rank > 1)
      squares = squares.sum(rank - 1);
    if (rank > 0)
      squares = squares.sum(llvm::to_vector(llvm::seq<int64_t>(0, std::max<int64_t>(rank - 1, 1))));
    total = total ? loss.with(total) + squares : squares;
  }
  Expr norm = total ? loss.with(total).apply<SqrtOp>() : loss.splat(0);
  Expr scale = (limit / (norm + 1e-6)).apply<MinOp>(norm.splat(1));
  for (Value &gradient : gradients) {
    Expr g(b, gradient.getLoc(), gradient);
    gradient = g * scale.cast(g.type().getElementType()).broadcastScalar(g.type());
  }
  proceed =
      AndOp::create(b, function.getLoc(), proceed, IsFiniteOp::create(b, function.getLoc(), norm));
  addResult(norm, GRADC_ROLE_GRADIENT_NORM);
}

/// The slot's value; its state is made by the first function that needs it. One as large as its
/// parameter is stored in the same order.
FailureOr<Value> StepBuilder::slot(ReadOp parameter, const UpdateSlot &slot) {
  StringAttr symbol = b.getStringAttr(parameter.getState() + "." + slot.name);
  if (Operation *existing = symbols.lookup(symbol)) {
    auto state = dyn_cast<StateOp>(existing);
    if (!state || state.getKind() != StateKind::slot || state.getType() != slot.type)
      return existing->emitError("expected ") << symbol << " to be free for optimizer slot `"
                                              << slot.name << "` of type " << slot.type;
  } else {
    auto owner = symbols.lookup<StateOp>(parameter.getState());
    Operation *last = owner;
    while (auto next = dyn_cast_or_null<StateOp>(last->getNextNode())) {
      if (next.getKind() != StateKind::slot)
        break;
      last = next;
    }
    OpBuilder after(module.getContext());
    after.setInsertionPointAfter(last);
    bool isAlike = slot.type.getShape() == parameter.getType().getShape();
    RankedTensorType logical = slot.type;
    if (isAlike)
      logical = slot.type.clone(cast<RankedTensorType>(owner.getLogicalType()).getShape());
    auto initial = cast<ElementsAttr>(DenseElementsAttr::get(
        logical, cast<Attribute>(b.getFloatAttr(slot.type.getElementType(), slot.initial))));
    auto state =
        StateOp::create(after, owner.getLoc(), symbol, StateKind::slot, slot.type, initial);
    if (isAlike)
      state.setPermutationAttr(owner.getPermutationAttr());
    symbols.insert(state);
  }
  return ReadOp::create(b, parameter.getLoc(), slot.type, FlatSymbolRefAttr::get(symbol))
      .getResult();
}

LogicalResult StepBuilder::update(ReadOp parameter, Value gradient) {
  auto type = cast<RankedTensorType>(parameter.getResult().getType());
  OperationState state(parameter.getLoc(), spec.op);
  state.addOperands({parameter.getResult(), gradient});
  state.addTypes(type);
  SmallVector<FlatSymbolRefAttr> updated = {parameter.getStateAttr()};
  for (const UpdateSlot &wanted : spec.rule().getUpdateSlots(type, spec.hyperparameters)) {
    FailureOr<Value> value = slot(parameter, wanted);
    if (failed(value))
      return failure();
    state.addOperands(*value);
    state.addTypes(wanted.type);
    updated.push_back(value->getDefiningOp<ReadOp>().getStateAttr());
  }
  state.addOperands(scalars);
  state.addOperands(proceed);
  state.addAttributes(spec.hyperparameters.getValue());
  Operation *op = b.create(state);
  if (failed(verify(op))) // a hyperparameter that the op needs is not there
    return failure();
  for (auto [symbol, value] : llvm::zip_equal(updated, op->getResults()))
    WriteOp::create(b, op->getLoc(), symbol, value);
  return success();
}

void StepBuilder::addResult(Value value, gradc_role role) {
  StringAttr name = b.getStringAttr(gradc_role_name(role));
  NamedAttribute attributes[] = {b.getNamedAttr("grad.name", name),
                                 b.getNamedAttr("grad.role", name)};
  (void)function.insertResult(function.getNumResults(), value.getType(),
                              b.getDictionaryAttr(attributes));
  exit->insertOperands(exit->getNumOperands(), value);
}
