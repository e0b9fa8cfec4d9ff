// Once a scatter is lowered, its loops tell by an attribute what they are.
#include "passes/kernel/Scatters.h"

#include "dialects/grad/indexing/Index.h"

using namespace mlir;
using namespace mlir::grad;

static bool isScatter(Operation *op) { return isa<ScatterOp>(op) || op->hasAttr(indexedLoops); }

SmallVector<Operation *> gradc::scattersOf(exec::KernelOp kernel) {
  SmallVector<Operation *> found;
  for (Operation &op : kernel.getBlock())
    if (isScatter(&op))
      found.push_back(&op);
  return found;
}

Operation *gradc::scatterOfResult(exec::KernelOp kernel) {
  ValueRange results = kernel.getYielded();
  Operation *op = results.size() == 1 ? results[0].getDefiningOp() : nullptr;
  if (!op || !isScatter(op) || !results[0].hasOneUse() ||
      kernel.getLayout(kernel.getBlock().getNumArguments()))
    return nullptr;
  if (auto scatter = dyn_cast<ScatterOp>(op)) { // not one whose sums are rounded to the result
    Type element = scatter.getResult().getType().getElementType();
    bool isExact =
        scatter.getReduction() == ScatterReduction::replace || accumulatorOf(element) == element;
    return isExact ? op : nullptr;
  }
  return op;
}

bool gradc::searchesUpdates(exec::KernelOp kernel) {
  return llvm::any_of(kernel.getBlock().getOps<ScatterOp>(),
                      [](ScatterOp op) { return op.getDims().back() >= 0; });
}
