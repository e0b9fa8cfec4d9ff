// Marks what one library call computes, and cuts kernels behind the part that one could compute.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/support/CutKernel.h"
#include "passes/support/LaunchOrder.h"
#include "passes/support/LibraryForm.h"
#include "passes/support/ModuleLevel.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_CHOOSELIBRARIES
#include "passes/Passes.h.inc"

namespace {

/// Whether a contraction in a library saves more than it costs: a launch, and the way through
/// memory of `cut`, a result that the kernel goes on with (null: it does not). Not measured: f32 on
/// an H200 (67 TFLOP/s on 132 multiprocessors, 4.8 TB/s), a quarter of its peak in generated code,
/// three quarters in a library, 2 us a launch in a graph. Generated code sums a tile of the result
/// in one block, on one multiprocessor; libraries share long sums among several.
bool pays(Operation *contraction, exec::LibraryRole role, RankedTensorType cut) {
  constexpr double peak = 67e12, generated = 0.25, library = 0.75, bandwidth = 4.8e12,
                   launch = 2e-6, tile = 512, processors = 132;
  auto copy = [&](Type type) {
    return launch +
           2 * double(exec::layoutBytes(cast<RankedTensorType>(type), nullptr)) / bandwidth;
  };
  double flops = cast<CostOpInterface>(contraction).getFlops();
  auto result = cast<RankedTensorType>(contraction->getResult(0).getType());
  double tiles = std::ceil(double(result.getNumElements()) / tile);
  double busy = std::min(1.0, tiles / processors);
  double saved = flops / peak * (1 / (generated * busy) - 1 / library);
  double cost = cut ? copy(cut) : 0;
  // cuDNN's f32 engines bring what they read and write into another order, and back: the workspace
  // that they ask for has just these copies (cuDNN 9.19, asked for sm_90).
  if (role != exec::LibraryRole::matmul) {
    for (Type type : contraction->getOperandTypes())
      cost += copy(type);
    cost += copy(result);
  }
  return saved > cost;
}

/// Whether a result takes the place of a state that the launch reads: no call may write over what
/// it reads.
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
      choose(kernel, symbols, launches[kernel.getSymNameAttr()]);
  }

private:
  void choose(exec::KernelOp kernel, SymbolTable &symbols, ArrayRef<exec::LaunchOp> launches) {
    LibraryPrefix prefix = findLibraryPrefix(kernel);
    if (!prefix.call)
      return;
    Value sum = prefix.last->getResult(0);
    bool isWhole = prefix.call.keeps() || llvm::equal(kernel.getYielded(), ValueRange(sum));
    RankedTensorType cut = isWhole ? nullptr : cast<RankedTensorType>(sum.getType());
    if (mode != "always" && !pays(prefix.contraction, prefix.call.getRole(), cut))
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
