// Removes roundings for storage whose result is read in the same kernel.
#include "passes/Passes.h"

#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "passes/graph/StorageCasts.h"

namespace gradc {
#define GEN_PASS_DEF_SKIPROUNDINGS
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

namespace {

/// Whether a reduction reads the wide value while other ops read the narrow one. The reduction must
/// match the values that those ops see: if a softmax's sum is less than one of its terms, the loss
/// is negative.
bool isReducedAsStored(CastOp up, CastOp down) {
  bool isReduced = llvm::any_of(up->getUsers(), [](Operation *user) {
    auto reduction = dyn_cast<ReductionOpInterface>(user);
    return reduction && !reduction.getReducedDims().empty();
  });
  return isReduced && llvm::any_of(down->getUsers(), [&](Operation *user) {
           auto widened = dyn_cast<CastOp>(user);
           return !widened || roundingOf(widened) != down;
         });
}

struct SkipRoundings : gradc::impl::SkipRoundingsBase<SkipRoundings> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<exec::KernelOp>())
      kernel.walk([](CastOp up) {
        CastOp down = roundingOf(up);
        if (!down || isReducedAsStored(up, down))
          return;
        up.replaceAllUsesWith(down.getOperand());
        up.erase();
        if (down.use_empty())
          down.erase();
      });
  }
};

} // namespace
