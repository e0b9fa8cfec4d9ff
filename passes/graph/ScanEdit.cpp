// A scan's operands and results come in groups, so a new one is inserted at the end of its group.
#include "passes/graph/ScanEdit.h"

#include "dialects/grad/control/Control.h"
#include "dialects/grad/control/OverSteps.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

Changes::Changes(ScanOp scan) {
  for (Value v : scan.getCarried())
    known[v] = Change::byCarried;
  for (Value v : scan.getSteps())
    known[v] = Change::byStep;
  for (Operation &op : scan.getBlock().without_terminator()) {
    Change change = Change::never;
    for (Value operand : op.getOperands())
      change = std::max(change, of(operand));
    if (!isPure(&op) || (change == Change::byStep && !canRunOverSteps(&op, changing(&op))))
      change = Change::byCarried;
    for (Value result : op.getResults())
      known[result] = change;
  }
}

Change Changes::of(Value value) const {
  auto at = known.find(value);
  return at == known.end() ? Change::never : at->second;
}

llvm::SmallBitVector Changes::changing(Operation *op) const {
  llvm::SmallBitVector operands(op->getNumOperands());
  for (OpOperand &operand : op->getOpOperands())
    if (of(operand.get()) != Change::never)
      operands.set(operand.getOperandNumber());
  return operands;
}

BlockArgument gradc::addInvariant(ScanOp scan, Value value) {
  scan.getInvariantsMutable().append(value);
  return scan.getBlock().addArgument(value.getType(), value.getLoc());
}

BlockArgument gradc::addStack(ScanOp scan, Value stack) {
  unsigned at = scan.getCarriedCount() + unsigned(scan.getStacks().size());
  scan.getStacksMutable().append(stack);
  return scan.getBlock().insertArgument(at, stepType(stack.getType()), stack.getLoc());
}

Value gradc::findStack(ScanOp scan, Value inside) {
  for (auto [step, stack] : llvm::zip_equal(scan.getSteps(), scan.getStacks()))
    if (step == inside)
      return stack;
  for (auto [step, stack] : llvm::zip_equal(scan.getYieldedSteps(), scan.getStackResults()))
    if (step == inside)
      return stack;
  return {};
}

ScanOp gradc::addResults(ScanOp scan, ValueRange values) {
  SmallVector<Type> types(scan.getResultTypes());
  for (Value v : values)
    types.push_back(stackType(v.getType(), scan.getTrips()));
  OpBuilder b(scan);
  auto more = ScanOp::create(b, scan.getLoc(), types, scan.getTrips(), scan.getInitial(),
                             scan.getStacks(), scan.getInvariants(), scan.getReverse(),
                             /*saved=*/0);
  more.getBody().takeBody(scan.getBody());
  cast<YieldOp>(more.getBlock().getTerminator()).getValuesMutable().append(values);
  scan.replaceAllUsesWith(more.getResults().take_front(scan.getNumResults()));
  scan.erase();
  return more;
}

ScanOp gradc::splitScan(ScanOp scan, int64_t steps) {
  OpBuilder b(scan);
  Location loc = scan.getLoc();
  int64_t parts = scan.getTrips() / steps;
  ScanOperands operands{scan.getInitial(), {}, scan.getInvariants()};
  for (Value stack : scan.getStacks()) {
    Expr whole(b, loc, stack);
    SmallVector<int64_t> shape{parts, steps};
    llvm::append_range(shape, whole.shape().drop_front());
    operands.stacks.push_back(whole.reshape(shape));
  }
  ScanOp inner;
  ScanOp outer =
      buildScan(b, loc, parts, scan.getReverse(), operands,
                [&](OpBuilder &inside, Block::BlockArgListType arguments) {
                  unsigned carried = scan.getCarriedCount();
                  size_t stacks = scan.getStacks().size();
                  SmallVector<Type> types(scan.getInitial().getTypes());
                  for (Value step : scan.getYieldedSteps())
                    types.push_back(stackType(step.getType(), steps));
                  inner = ScanOp::create(inside, loc, types, steps, arguments.take_front(carried),
                                         arguments.slice(carried, stacks),
                                         arguments.drop_front(carried + stacks), scan.getReverse(),
                                         /*saved=*/0);
                  return llvm::to_vector_of<Value>(inner.getResults());
                });
  inner.getBody().takeBody(scan.getBody());
  for (auto [from, to] : llvm::zip_equal(scan.getResults(), outer.getResults())) {
    Expr part(b, loc, to);
    from.replaceAllUsesWith(part.reshape(cast<RankedTensorType>(from.getType()).getShape()));
  }
  scan.erase();
  return inner;
}

SmallVector<BlockArgument> gradc::constantArguments(OpOperand &operand) {
  Operation *op = operand.getOwner();
  unsigned fromEnd = op->getNumOperands() - operand.getOperandNumber(), constant = 0;
  if (auto scan = dyn_cast<ScanOp>(op))
    constant = scan.getInvariants().size();
  else if (auto branch = dyn_cast<IfOp>(op))
    constant = branch.getInputs().size();
  SmallVector<BlockArgument> arguments;
  if (fromEnd <= constant)
    for (Region &region : op->getRegions())
      arguments.push_back(region.getArguments().take_back(fromEnd).front());
  return arguments;
}
