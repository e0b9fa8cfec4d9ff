// Determines reach by trial: builds the gradients in a temporary block, so that gradient rules are
// not duplicated.
#include "passes/training/Reach.h"

#include "dialects/grad/Backward.h"
#include "dialects/grad/Build.h"
#include "dialects/grad/EntryAttributes.h"

using namespace mlir;
using namespace mlir::grad;

/// For each value on which some of `missing` depend: the index of the first of these.
static DenseMap<Value, size_t> firstDependents(ArrayRef<Operation *> ops,
                                               ArrayRef<Operation *> missing) {
  DenseMap<Operation *, size_t> indices;
  for (auto [i, op] : llvm::enumerate(missing))
    indices.try_emplace(op, i);
  DenseMap<Value, size_t> first;
  for (Operation *op : llvm::reverse(ops)) {
    size_t least = indices.lookup_or(op, missing.size());
    for (Value result : op->getResults())
      least = std::min(least, first.lookup_or(result, missing.size()));
    if (least == missing.size())
      continue;
    for (Value operand : op->getOperands()) {
      size_t &index = first.try_emplace(operand, least).first->second;
      index = std::min(index, least);
    }
  }
  return first;
}

/// The last op that has the gradient of a result, and a part of the path from `target` without one.
static Operation *findStop(Value target, ArrayRef<Operation *> ops, const Backward &backward) {
  DenseSet<Value> dependent{target};
  for (Operation *op : ops)
    if (llvm::any_of(op->getOperands(), [&](Value v) { return dependent.contains(v); }))
      dependent.insert(op->result_begin(), op->result_end());
  auto hasGradient = [&](Value v) { return bool(backward.lookup(v)); };
  return *llvm::find_if(llvm::reverse(ops), [&](Operation *op) {
    return llvm::any_of(op->getResults(), hasGradient) &&
           llvm::any_of(op->getOperands(),
                        [&](Value v) { return dependent.contains(v) && !hasGradient(v); });
  });
}

SmallVector<gradc::Reach> gradc::findReach(Value objective, ValueRange targets) {
  SmallVector<Operation *> ops = producersOf(objective);
  Block scratch;
  OpBuilder b(objective.getContext());
  b.setInsertionPointToEnd(&scratch);
  Backward backward;
  auto type = cast<RankedTensorType>(objective.getType());
  backward.add(b, objective, splat(b, objective.getLoc(), type, 1));
  // All values are targets, so that a gradient that does not reach one shows where it stops.
  SmallVector<Value> values(targets);
  for (Operation *op : ops)
    llvm::append_range(values, op->getOperands());
  backward.run(b, ops, values);

  ArrayRef<Operation *> missing = backward.getMissing();
  DenseMap<Value, size_t> dependents = firstDependents(ops, missing);
  DenseSet<Value> connected{objective};
  for (Operation *op : ops)
    connected.insert(op->operand_begin(), op->operand_end());
  SmallVector<Reach> answers;
  for (Value target : targets) {
    if (auto dependent = dependents.find(target); dependent != dependents.end())
      answers.push_back({Arrival::missing, missing[dependent->second]});
    else if (backward.lookup(target))
      answers.push_back({Arrival::arrives});
    else if (!connected.contains(target))
      answers.push_back({Arrival::unconnected});
    else
      answers.push_back({Arrival::stopped, findStop(target, ops, backward)});
  }
  // The scratch ops use forward values, so they are erased in reverse order.
  while (!scratch.empty())
    scratch.back().erase();
  return answers;
}

std::string gradc::describeValue(Value value) {
  if (auto read = value.getDefiningOp<ReadOp>())
    return ("parameter \"" + read.getState() + "\"").str();
  if (auto argument = dyn_cast<BlockArgument>(value))
    if (auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())) {
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), portName);
      return name ? ("input \"" + name.strref() + "\"").str()
                  : "argument " + std::to_string(argument.getArgNumber());
    }
  Operation *op = value.getDefiningOp();
  return op ? ("the result of " + op->getName().getStringRef()).str() : "a block argument";
}
