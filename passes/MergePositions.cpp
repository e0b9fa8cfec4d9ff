// Merges the spatial dims of convolutions that have one tap.
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/Passes.h"
#include "passes/kernel/MergedDims.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_MERGEPOSITIONS
#include "passes/Passes.h.inc"

namespace {

/// A kernel of one convolution, and of ops on single elements of its result.
class OneTapKernel {
public:
  explicit OneTapKernel(exec::KernelOp kernel) : kernel(kernel) {
    auto contractions = kernel.getBlock().getOps<ContractionOpInterface>();
    if (!llvm::hasSingleElement(contractions))
      return;
    contraction = *contractions.begin();
    window = contraction.getLetters().window;
  }

  /// The spatial dims, if the kernel keeps its meaning with merged ones.
  std::optional<MergedDims> positions() {
    if (!window)
      return std::nullopt;
    ArrayRef<int64_t> shape = shapeOf(contraction->getResult(0));
    MergedDims positions(shape.take_front(window.getRank()), /*keepsRank=*/true);
    bool isPossible = hasOneTap(shape) &&
                      positions.isSpread(contraction->getOperand(0).getType()) &&
                      positions.keepsMeaning(kernel, contraction);
    return isPossible ? std::optional(positions) : std::nullopt;
  }

private:
  /// Whether each window of a single picture is one position.
  bool hasOneTap(ArrayRef<int64_t> shape) {
    auto areAll = [](ArrayRef<int64_t> numbers, int64_t n) {
      return llvm::all_of(numbers, [&](int64_t number) { return number == n; });
    };
    int64_t rank = window.getRank();
    ArrayRef<int64_t> others = shape.drop_front(rank);
    return rank > 1 && !areAll(shape.slice(1, rank - 1), 1) && areAll(window.getSize(), 1) &&
           areAll(window.getStride(), 1) && areAll(window.getLow(), 0) &&
           areAll(window.getHigh(), 0) && areAll(window.getBase(), 1) && !others.empty() &&
           areAll(others.drop_back(), 1);
  }

  exec::KernelOp kernel;
  ContractionOpInterface contraction;
  WindowAttr window;
};

struct MergePositions : impl::MergePositionsBase<MergePositions> {
  void runOnOperation() override {
    exec::KernelLaunches launches = exec::launchesByKernel(getOperation());
    for (auto kernel : getOperation().getOps<exec::KernelOp>()) {
      std::optional<MergedDims> positions = OneTapKernel(kernel).positions();
      if (!positions)
        continue;
      for (exec::LaunchOp launch : launches[kernel.getSymNameAttr()])
        positions->relaunch(launch);
      positions->retype(kernel);
    }
  }
};

} // namespace
} // namespace gradc
