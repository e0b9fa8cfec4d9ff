// Extents of the arguments and yielded values of regions. A loop is visited until the extents of
// its carried values no longer change.
#include "passes/entry/Extents.h"

using namespace mlir;
using namespace gradc;

std::optional<int64_t> ExtentAnalysis::join(int64_t a, int64_t b) {
  int64_t least = std::min(a, b), other = std::max(a, b);
  numbers |= least == extent::numbered && other > 0;
  order |= least == extent::numbered && extent::outerOf(other) > 1;
  if (a != b && !extent::isFree(least))
    return std::nullopt;
  return extent::isFree(other) ? least : other;
}

FailureOr<Extents> ExtentAnalysis::join(const Extents &a, const Extents &b) {
  Extents joined;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    std::optional<int64_t> both = join(x, y);
    if (!both)
      return fail("it is the batch in one iteration or branch and not in another");
    joined.push_back(*both);
  }
  return joined;
}

LogicalResult ExtentAnalysis::visitIf(grad::IfOp op) {
  for (Region *region : op.getRegions()) {
    for (auto [argument, input] : llvm::zip_equal(region->getArguments(), op.getInputs())) {
      const Extents *extents = find(input);
      if (!extents)
        return fail("an operand has none");
      set(argument, Extents(*extents));
    }
    if (failed(visit(region->front())))
      return failure();
  }
  for (auto [result, a, b] :
       llvm::zip_equal(op.getResults(), op.getBody().front().getTerminator()->getOperands(),
                       op.getOtherwise().front().getTerminator()->getOperands())) {
    FailureOr<Extents> joined = join(*find(a), *find(b));
    if (failed(joined))
      return failure();
    set(result, *joined);
  }
  return success();
}

LogicalResult ExtentAnalysis::visitScan(grad::ScanOp op) {
  for (Value operand : op->getOperands())
    if (!find(operand))
      return fail("an operand has none");
  for (auto [argument, initial] : llvm::zip_equal(op.getCarried(), op.getInitial()))
    set(argument, Extents(*find(initial)));
  for (auto [argument, stack] : llvm::zip_equal(op.getSteps(), op.getStacks())) {
    const Extents &extents = *find(stack);
    if (extents.front() > 0)
      return fail("it takes rows of the batch one by one");
    set(argument, Extents(ArrayRef(extents).drop_front()));
  }
  for (auto [argument, value] : llvm::zip_equal(op.getInvariantArguments(), op.getInvariants()))
    set(argument, Extents(*find(value)));
  // An extent changes once, from free to another.
  for (bool isDone = false; !isDone;) {
    isDone = true;
    if (failed(visit(op.getBlock())))
      return failure();
    for (auto [argument, next] : llvm::zip_equal(op.getCarried(), op.getNextCarried())) {
      FailureOr<Extents> joined = join(*find(argument), *find(next));
      if (failed(joined))
        return failure();
      isDone &= *joined == *find(argument);
      set(argument, *joined);
    }
  }
  for (auto [result, argument] : llvm::zip_equal(op.getLastCarried(), op.getCarried()))
    set(result, Extents(*find(argument)));
  for (auto [result, step] : llvm::zip_equal(op.getStackResults(), op.getYieldedSteps())) {
    Extents extents{extent::whole};
    llvm::append_range(extents, *find(step));
    set(result, extents);
  }
  return success();
}
