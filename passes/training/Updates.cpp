// Builds one update op per parameter, with the slots that its rule requires, and its mask.
#include "passes/training/Updates.h"

#include "dialects/grad/Build.h"
#include "passes/entry/Ports.h"
#include "passes/training/RowUpdates.h"
#include "passes/training/TrainedStates.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The names of all update ops: "adam, momentum, ...".
static std::string listUpdates(MLIRContext *context) {
  SmallVector<StringRef> names;
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (op.hasInterface<UpdateOpInterface>())
      names.push_back(op.stripDialect());
  llvm::sort(names);
  return llvm::join(names, ", ");
}

FailureOr<UpdateRule> UpdateRule::parse(Operation *at) {
  auto spec = at->getAttrOfType<DictionaryAttr>(updateRuleName);
  auto name = spec ? spec.getAs<StringAttr>("name") : StringAttr();
  MLIRContext *context = at->getContext();
  OperationName op("grad." + (name ? name.getValue() : "").str(), context);
  if (!op.hasInterface<UpdateOpInterface>())
    return at->emitError("expected grad.optimizer to name one of ")
           << listUpdates(context) << ", found " << at->getAttr(updateRuleName);
  NamedAttrList hyperparameters(spec);
  hyperparameters.erase("name");
  for (NamedAttribute given : hyperparameters)
    if (!llvm::is_contained(op.getAttributeNames(), given.getName()))
      return at->emitError("expected the hyperparameters of grad.")
             << name.getValue() << " in grad.optimizer, found `" << given.getName().strref() << "`";
  if (failed(op.verifyInherentAttrs(hyperparameters, [&] { return at->emitError(); })))
    return failure();
  return UpdateRule{op, hyperparameters.getDictionary(context)};
}

FailureOr<SmallVector<Value>> Updates::findScalars(const UpdateRule &rule) {
  SmallVector<Value> scalars;
  for (StringRef role : rule.rule().getUpdateScalars(rule.hyperparameters)) {
    Value found = argumentOfRole(function, role);
    if (!found)
      return function.emitError("expected an argument with role \"") << role << "\", found none";
    auto type = dyn_cast<RankedTensorType>(found.getType());
    if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
      return function.emitError("expected the argument with role \"")
             << role << "\" to be a float scalar, found " << found.getType();
    scalars.push_back(found);
  }
  return scalars;
}

/// The value of the rule's slot; its state is made by the first function that needs it.
/// `isOrdered`: one as large as its parameter is stored in the same order.
FailureOr<ReadOp> Updates::slot(OpBuilder &b, ReadOp parameter, const UpdateSlot &slot,
                                StringRef rule, bool isOrdered) {
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
    bool isAlike = isOrdered && slot.type.getShape() == parameter.getType().getShape();
    RankedTensorType logical = slot.type;
    if (isAlike)
      logical = slot.type.clone(owner.getWholeType().getShape());
    Type element = slot.type.getElementType();
    Attribute value = b.getBoolAttr(slot.initial != 0);
    if (isa<FloatType>(element))
      value = b.getFloatAttr(element, slot.initial);
    auto initial = cast<ElementsAttr>(DenseElementsAttr::get(logical, value));
    auto state =
        StateOp::create(after, owner.getLoc(), symbol, StateKind::slot, slot.type, initial);
    state->setAttr(slotRuleName, b.getStringAttr(Twine(slot.isKeras ? "keras " : "") + rule));
    if (isAlike) {
      state.setShapeAttr(owner.getShapeAttr());
      state.setPermutationAttr(owner.getPermutationAttr());
      state.setShardAttr(owner.getShardAttr());
    }
    RankedTensorType own = isOrdered ? parameter.getType() : owner.getLogicalType();
    bool isAsLarge =
        slot.type.getRank() == own.getRank() && slot.type.getNumElements() == own.getNumElements();
    if (isCut && isAsLarge)
      state->setAttr(cutName, parameter.getStateAttr());
    symbols.insert(state);
  }
  return ReadOp::create(b, parameter.getLoc(), slot.type, FlatSymbolRefAttr::get(symbol));
}

/// The function's argument with the learning rate of a group.
FailureOr<Value> Updates::rateOf(StringAttr group) {
  for (BlockArgument argument : function.getArguments())
    if (function.getArgAttr(argument.getArgNumber(), fieldName) == group &&
        roleOfArgument(function, argument.getArgNumber()) ==
            gradc_role_name(GRADC_ROLE_LEARNING_RATE))
      return Value(argument);
  return function.emitError("expected an argument with role \"learning_rate\" and grad.field ")
         << group << ", found none";
}

/// The number of this step among those that count there. A step that does not proceed is not
/// counted.
FailureOr<Value> Updates::countStep(OpBuilder &b, FlatSymbolRefAttr counter, Value proceed) {
  Value &number = counted[counter];
  if (number)
    return number;
  auto type = RankedTensorType::get({}, b.getF32Type());
  if (Operation *existing = symbols.lookup(counter.getAttr())) {
    auto state = dyn_cast<StateOp>(existing);
    if (!state || state.getKind() != StateKind::slot || state.getType() != type)
      return existing->emitError("expected ")
             << counter << " to be free for the number of steps, of type " << type;
  } else {
    // Before all others: slots behind a parameter are its own.
    OpBuilder before(*module.getOps<StateOp>().begin());
    auto zero = cast<ElementsAttr>(
        DenseElementsAttr::get(type, cast<Attribute>(b.getFloatAttr(type.getElementType(), 0))));
    symbols.insert(
        StateOp::create(before, function.getLoc(), counter.getAttr(), StateKind::slot, type, zero));
  }
  Expr old(b, function.getLoc(), ReadOp::create(b, function.getLoc(), type, counter));
  Expr now = old + 1.0;
  WriteOp::create(b, function.getLoc(), counter, old.with(proceed).select(now, old));
  return number = now;
}

/// The number of steps that the parameter has trained for, including this one.
FailureOr<Value> Updates::stepOf(OpBuilder &b, StateOp owner, Value proceed) {
  if (auto counter = owner->getAttrOfType<FlatSymbolRefAttr>(stepsName))
    return countStep(b, counter, proceed);
  if (Value step = argumentOfRole(function, GRADC_ROLE_STEP))
    return step;
  return function.emitError("expected an argument with role \"step\" to prune \"")
         << owner.getSymName() << "\", found none";
}

/// The scalar operands of a parameter's rule: the learning rate of its group, and the number of
/// steps that it has trained for.
FailureOr<SmallVector<Value>> Updates::scalarsOf(OpBuilder &b, StateOp owner, const UpdateRule &own,
                                                 Value proceed) {
  FailureOr<SmallVector<Value>> scalars = findScalars(own);
  if (failed(scalars))
    return failure();
  if (auto group = owner->getAttrOfType<StringAttr>(rateName)) {
    FailureOr<Value> rate = rateOf(group);
    if (failed(rate))
      return failure();
    scalars->front() = *rate;
  }
  if (auto counter = owner->getAttrOfType<FlatSymbolRefAttr>(stepsName))
    for (auto [role, scalar] :
         llvm::zip_equal(own.rule().getUpdateScalars(own.hyperparameters), *scalars)) {
      if (role != gradc_role_name(GRADC_ROLE_STEP))
        continue;
      FailureOr<Value> number = countStep(b, counter, proceed);
      if (failed(number))
        return failure();
      scalar = *number;
    }
  return scalars;
}

FailureOr<UpdateRule> Updates::ruleOf(StateOp owner) const {
  return owner->hasAttr(updateRuleName) ? UpdateRule::parse(owner) : FailureOr<UpdateRule>(rule);
}

LogicalResult Updates::maskGradient(OpBuilder &b, ReadOp parameter, Value &gradient) {
  auto owner = symbols.lookup<StateOp>(parameter.getState());
  if (!owner->hasAttr(pruneName))
    return success();
  FailureOr<PruneRule> rule = PruneRule::parse(owner);
  if (failed(rule))
    return failure();
  if (isCut || owner.getShard())
    return owner.emitError("expected every rank to update all of \"")
           << owner.getSymName() << "\", which is pruned: its elements compete with each other";
  UpdateSlot wanted{maskName, parameter.getType().clone(b.getI1Type()), /*initial=*/1};
  FailureOr<ReadOp> mask = slot(b, parameter, wanted, pruneRule, /*isOrdered=*/true);
  if (failed(mask))
    return failure();
  masks.insert({parameter, Mask{*rule, *mask}});
  Expr own(b, parameter.getLoc(), gradient);
  gradient = own.with(*mask).select(own, own.splat(0));
  return success();
}

/// The updated parameter, 0 where its mask says so. The mask is renewed if the step is one that
/// does so.
FailureOr<Value> Updates::prune(OpBuilder &b, ReadOp parameter, Value updated, Value proceed) {
  auto known = masks.find(parameter);
  if (known == masks.end())
    return updated;
  auto owner = symbols.lookup<StateOp>(parameter.getState());
  auto [rule, mask] = known->second;
  FailureOr<Value> step = stepOf(b, owner, proceed);
  if (failed(step))
    return failure();
  Expr value(b, parameter.getLoc(), updated);
  Expr renewed = value.with(rule.renew(b, owner, parameter, mask, *step, proceed));
  WriteOp::create(b, parameter.getLoc(), mask.getStateAttr(), renewed);
  return renewed.select(value, value.splat(0)).get();
}

LogicalResult Updates::build(OpBuilder &b, ReadOp parameter, Value gradient, Value proceed,
                             const RowGradient *rows) {
  // 1. The parameter's own rule.
  auto owner = symbols.lookup<StateOp>(parameter.getState());
  FailureOr<UpdateRule> own = ruleOf(owner);
  if (failed(own))
    return failure();
  FailureOr<SmallVector<Value>> scalars = scalarsOf(b, owner, *own, proceed);
  if (failed(scalars))
    return failure();
  Expr value(b, parameter.getLoc(), parameter);

  // 2. In the model's form, where the rule depends on it.
  bool isLogical = own->rule().dependsOnDimOrder() && owner.isReordered();
  if (isLogical) {
    value = value.with(owner.toLogical(b, value));
    gradient = owner.toLogical(b, gradient);
  }

  // 3. The update, of all rows or of some. That of 16-bit floats is computed in f32, and slots are
  // f32: the squares of f16 gradients would be 0, and bf16 would keep a moment from falling.
  Type element = value.element(), wide = accumulatorOf(element);
  auto isTable = [&](Type type) {
    return rows && cast<RankedTensorType>(type).getShape() == value.shape();
  };
  auto rowsOf = [&](Value table) {
    return isTable(table.getType()) ? rows->readFrom(b, table) : table;
  };
  OperationState state(parameter.getLoc(), own->op);
  state.addOperands({value.with(rowsOf(value)).cast(wide), value.with(gradient).cast(wide)});
  state.addTypes(state.operands.front().getType());
  SmallVector<FlatSymbolRefAttr> updated = {parameter.getStateAttr()};
  SmallVector<Value> tables = {value};
  auto type = value.type().clone(wide);
  for (const UpdateSlot &wanted : own->rule().getUpdateSlots(type, own->hyperparameters)) {
    FailureOr<ReadOp> read = slot(b, parameter, wanted, own->op.stripDialect(), !isLogical);
    if (failed(read))
      return failure();
    tables.push_back(read->getResult());
    state.addOperands(rowsOf(tables.back()));
    state.addTypes(state.operands.back().getType());
    updated.push_back(read->getStateAttr());
  }
  state.addOperands(*scalars);
  state.addOperands(proceed);
  state.addAttributes(own->hyperparameters.getValue());
  Operation *op = b.create(state);
  if (failed(verify(op))) // a hyperparameter that the op needs is not there
    return failure();
  SmallVector<Value> results(op->getResults());
  results.front() = value.with(results.front()).cast(element);
  for (auto [table, result] : llvm::zip_equal(tables, results))
    if (isTable(table.getType()))
      result = rows->writeTo(b, table, result);
  if (isLogical)
    results.front() = owner.fromLogical(b, results.front());
  FailureOr<Value> pruned = prune(b, parameter, results.front(), proceed);
  if (failed(pruned))
    return failure();
  results.front() = *pruned;
  if (isCut && !own->rule().isElementwise())
    owner->setAttr(wholeName, b.getUnitAttr());
  if (isCut)
    results.front() =
        AllGatherOp::create(b, op->getLoc(), results.front(), b.getArrayAttr({updated.front()}))
            .getResult(0);
  for (auto [symbol, result] : llvm::zip_equal(updated, results))
    WriteOp::create(b, op->getLoc(), symbol, result);
  return success();
}
