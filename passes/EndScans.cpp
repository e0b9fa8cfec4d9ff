// A loop that a condition ends is imported as a scan over its bound whose step is an if on a
// carried flag: the gradient needs a fixed number of steps. Once the flag is false, the steps
// change nothing, so where no gradient has asked for stacks, the scan itself ends at the flag.
#include "dialects/grad/control/Control.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_ENDSCANS
#include "passes/Passes.h.inc"

namespace {

/// The if that is all of a scan's step, besides constants; null: there is other work.
IfOp onlyBranch(ScanOp scan) {
  IfOp found;
  for (Operation &op : scan.getBlock().without_terminator())
    if (auto branch = dyn_cast<IfOp>(op); branch && !found)
      found = branch;
    else if (!op.hasTrait<OpTrait::ConstantLike>())
      return IfOp();
  return found;
}

/// Whether the else region leaves carried value `number` of the scan as it is. The flag is false
/// there.
bool keeps(ScanOp scan, IfOp branch, unsigned number, unsigned flag) {
  Value carried = scan.getCarried()[number], next = scan.getNextCarried()[number];
  if (next == carried)
    return true;
  auto result = dyn_cast<OpResult>(next);
  if (!result || result.getOwner() != branch)
    return false;
  Value kept = branch.getOtherwise().front().getTerminator()->getOperand(result.getResultNumber());
  if (auto argument = dyn_cast<BlockArgument>(kept))
    return branch.getInputs()[argument.getArgNumber()] == carried;
  DenseElementsAttr splat = splatOf(kept);
  return number == flag && splat && !splat.getSplatValue<bool>();
}

/// The number of the carried flag that may end the scan.
std::optional<unsigned> findFlag(ScanOp scan, IfOp branch) {
  auto condition = dyn_cast<BlockArgument>(branch.getCondition());
  if (!condition || condition.getArgNumber() >= scan.getCarriedCount())
    return std::nullopt;
  unsigned flag = condition.getArgNumber();
  for (unsigned i = 0; i < scan.getCarriedCount(); ++i)
    if (!keeps(scan, branch, i, flag))
      return std::nullopt;
  return flag;
}

/// Makes the ops of the if's body those of the scan's step.
void endAt(ScanOp scan, IfOp branch, unsigned flag) {
  Block &body = branch.getBody().front();
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), branch.getInputs()))
    argument.replaceAllUsesWith(input);
  Operation *yield = body.getTerminator();
  scan.getBlock().getOperations().splice(branch->getIterator(), body.getOperations(), body.begin(),
                                         yield->getIterator());
  branch->replaceAllUsesWith(yield->getOperands());
  branch.erase();
  scan.setCondition(flag);
}

struct EndScans : impl::EndScansBase<EndScans> {
  void runOnOperation() override {
    getOperation().walk([](ScanOp scan) {
      if (scan.mayEndEarly() || !scan.getStacks().empty() || !scan.getStackResults().empty())
        return;
      IfOp branch = onlyBranch(scan);
      if (!branch)
        return;
      if (std::optional<unsigned> flag = findFlag(scan, branch))
        endAt(scan, branch, *flag);
    });
  }
};

} // namespace
} // namespace gradc
