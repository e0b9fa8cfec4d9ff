// Replaces composite ops by their decompositions.
#include "passes/Passes.h"

#include "dialects/grad/Grad.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/schedule/OneOpKernel.h"

namespace gradc {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;

namespace {

/// Names the ops, because cuBLASLt has exactly these epilogues, in f32. Its GELU is the tanh form.
bool isOfLibrary(Operation *op) {
  auto gelu = dyn_cast<grad::GeluOp>(op);
  auto gradient = dyn_cast<grad::GeluGradOp>(op);
  bool isTanhForm = (gelu && gelu.getApproximate()) || (gradient && gradient.getApproximate());
  return isTanhForm && getElementTypeOrSelf(op->getResult(0)).isF32();
}

struct DecomposeComposites : gradc::impl::DecomposeCompositesBase<DecomposeComposites> {
  using DecomposeCompositesBase::DecomposeCompositesBase;

  void runOnOperation() override {
    SmallVector<grad::DecomposeOpInterface> composites;
    const exec::Level *level = gradc::namedLevel(getOperation());
    bool forCpu = keepForKernels && !(level && level->isCuda());
    const exec::KernelLimits &limits = exec::kernelLimits(/*isCuda=*/false);
    auto isKept = [&](Operation *op) {
      return (keepForLibraries && isOfLibrary(op)) ||
             (forCpu && (grad::writesRows(op) || gradc::suitsOneOpKernel(op, limits)));
    };
    auto collect = [&] {
      composites.clear();
      getOperation().walk([&](grad::DecomposeOpInterface op) {
        if (!isKept(op))
          composites.push_back(op);
      });
      return !composites.empty();
    };
    // A decomposition may contain composites, so repeat until none is left.
    while (collect())
      for (grad::DecomposeOpInterface composite : composites) {
        OpBuilder b(composite);
        composite->replaceAllUsesWith(composite.decompose(b));
        composite->erase();
      }
  }
};

} // namespace
