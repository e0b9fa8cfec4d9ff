// Marks kernels that a library call can replace, and splits kernels after a prefix that one can.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/entry/NodeOrder.h"
#include "passes/kernel/CostModel.h"
#include "passes/kernel/CutKernel.h"
#include "passes/kernel/LibraryForm.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_CHOOSELIBRARIES
#include "passes/Passes.h.inc"

namespace {

/// Whether a library call saves more than it costs: its overhead and, unless `cut` is null, a
/// launch and the round trip of `cut`, the result that the rest of the kernel reads, through
/// memory. Convolutions in plain f32 never pay, because cuDNN converts the layouts of inputs and
/// outputs.
bool pays(Operation *contraction, exec::LibraryRole role, RankedTensorType cut,
          const exec::Level &level) {
  CostModel model(level);
  return role == exec::LibraryRole::matmul &&
         model.savedByLibrary(contraction) > (cut ? model.copy(cut) : 0);
}

/// Whether a result overwrites a state that the launch reads. Library calls must not overwrite
/// their inputs.
bool updatesState(exec::LaunchOp launch) {
  return llvm::any_of(launch.getResults(), [&](Value result) {
    FlatSymbolRefAttr buffer = storedBuffer(result);
    return buffer &&
           llvm::any_of(launch.getOperands(), [&](Value v) { return loadedBuffer(v) == buffer; });
  });
}

struct ChooseLibraries : impl::ChooseLibrariesBase<ChooseLibraries> {
  using ChooseLibrariesBase::ChooseLibrariesBase;

  void runOnOperation() override {
    const exec::Level *level = namedLevel(getOperation());
    if (mode != "auto" && mode != "always" && mode != "never") {
      getOperation()->emitError("expected mode auto, always or never, found ") << mode;
      return signalPassFailure();
    }
    if (!level || !level->isCuda() || mode == "never")
      return;
    exec::KernelLaunches launches = exec::launchesByKernel(getOperation());
    SymbolTable symbols(getOperation());
    for (auto kernel : llvm::to_vector(getOperation().getOps<exec::KernelOp>()))
      choose(kernel, *level, symbols, launches[kernel.getSymNameAttr()]);
  }

private:
  void choose(exec::KernelOp kernel, const exec::Level &level, SymbolTable &symbols,
              ArrayRef<exec::LaunchOp> launches) {
    LibraryPrefix prefix = findLibraryPrefix(kernel);
    if (!prefix.call)
      return;
    Value sum = prefix.last->getResult(0);
    bool isWhole = prefix.call.keeps() || llvm::equal(kernel.getYielded(), ValueRange(sum));
    RankedTensorType cut = isWhole ? nullptr : cast<RankedTensorType>(sum.getType());
    if (mode != "always" && !pays(prefix.contraction, prefix.call.getRole(), cut, level))
      return;
    if (isWhole) {
      if (llvm::none_of(launches, updatesState))
        kernel.setLibraryAttr(prefix.call);
      return;
    }
    exec::KernelOp head = cutKernel(kernel, sum, launches, symbols).front();
    prefix = findLibraryPrefix(head);
    assert(prefix.call && "what was cut off is a call");
    head.setLibraryAttr(prefix.call);
  }
};

} // namespace
} // namespace gradc
