// A pad as a kernel of its own writes a tensor that the sum reads again. In the sum's kernel it is
// a load under a mask.
#include "passes/kernel/PadSums.h"

#include "passes/kernel/Clusters.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

void PadSums::analyze(Block &block) {
  for (Operation &op : block)
    if (op.hasOneUse() && isMadeOfPads(&op))
      made.insert(&op);
}

/// Whether the op pads, or computes element by element from pads and constants alone.
bool PadSums::isMadeOfPads(Operation *op) const {
  auto isMade = [&](Value v) { return made.contains(v.getDefiningOp()); };
  return isa<PadOp>(op) || (isFree(op) && op->getNumOperands() == 0) ||
         (loopKind(op) == LoopKind::elementwise && !isa<DecomposeOpInterface>(op) &&
          llvm::all_of(op->getOperands(), isMade));
}

bool PadSums::isTerm(Operation *op, const Group *group) const {
  auto pad = dyn_cast<PadOp>(op);
  // Elements that lie apart are read one by one.
  return pad && llvm::all_of(pad.getInterior(), [](int64_t gap) { return gap == 0; }) &&
         llvm::all_of(group->ops,
                      [&](Operation *other) { return isPlainSlice(other) || isMadeOfPads(other); });
}

bool PadSums::isPadded(Operation *op, const Group *group) const {
  return llvm::any_of(op->getUsers(),
                      [&](Operation *user) { return isa<PadOp>(user) && graph.of(user) == group; });
}

bool PadSums::isPlainSlice(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  return slice && slice->hasOneUse() && !slice.getStrides().empty() &&
         slice.getStrides().back() == 1;
}

bool PadSums::isPad(Operation *op) { return isa<PadOp>(op); }
