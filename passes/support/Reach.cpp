// Determines reach by trial: builds the gradients in a temporary block, so that gradient rules are
// not duplicated.
#include "passes/support/Reach.h"

#include "dialects/grad/Backward.h"
#include "dialects/grad/Build.h"

using namespace mlir;
using namespace mlir::grad;

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

  SmallVector<Reach> answers;
  for (Value target : targets) {
    DenseSet<Value> dependent{target};
    for (Operation *op : ops)
      if (llvm::any_of(op->getOperands(), [&](Value v) { return dependent.contains(v); }))
        dependent.insert(op->result_begin(), op->result_end());
    auto depends = [&](Value v) { return dependent.contains(v); };

    auto missing = llvm::find_if(backward.getMissing(), [&](Operation *op) {
      return llvm::any_of(op->getOperands(), depends);
    });
    if (missing != backward.getMissing().end())
      answers.push_back({Arrival::missing, *missing});
    else if (backward.lookup(target))
      answers.push_back({Arrival::arrives});
    else if (!dependent.contains(objective))
      answers.push_back({Arrival::unconnected});
    else
      answers.push_back({Arrival::stopped, *llvm::find_if(llvm::reverse(ops), [&](Operation *op) {
                           return llvm::any_of(op->getResults(),
                                               [&](Value v) { return bool(backward.lookup(v)); }) &&
                                  llvm::any_of(op->getOperands(), [&](Value v) {
                                    return depends(v) && !backward.lookup(v);
                                  });
                         })});
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
      auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "grad.name");
      return name ? ("input \"" + name.strref() + "\"").str()
                  : "argument " + std::to_string(argument.getArgNumber());
    }
  Operation *op = value.getDefiningOp();
  return op ? ("the result of " + op->getName().getStringRef()).str() : "a block argument";
}
