// Updates have to be found for each target. A search by every tile takes time with the number of
// targets times that of updates; here, it takes time with the number of groups of targets.
#include "passes/layout/ScatterSums.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/Index.h"
#include "passes/kernel/Clusters.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

SmallVector<Operation *> gradc::scattersOf(exec::KernelOp kernel) {
  SmallVector<Operation *> found;
  for (Operation &op : kernel.getBlock())
    if (isa<grad::ScatterOp>(op) || op.hasAttr(grad::indexedLoops))
      found.push_back(&op);
  return found;
}

/// Whether results of the kernel take the value at their own index alone.
static bool isElementwiseFrom(Value value) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (isa<exec::YieldOp>(user))
        continue;
      if (gradc::loopKind(user) != grad::LoopKind::elementwise ||
          !llvm::all_of(user->getResultTypes(), [&](Type type) {
            return cast<RankedTensorType>(type).getShape() == shape;
          }))
        return false;
      reached.insert(user->result_begin(), user->result_end());
    }
  return true;
}

/// Whether the rows of `dim`, and no others, are chosen by an index that is the same for all
/// elements of the row.
static bool choosesRows(grad::ScatterOp op, int64_t dim) {
  ArrayRef<int64_t> dims = op.getDims();
  for (auto [d, from] : llvm::enumerate(dims))
    if ((from < 0) != (int64_t(d) == dim))
      return false;
  return llvm::none_of(op.getIndexDims(), [&](int64_t d) { return llvm::is_contained(dims, d); });
}

static Type sumOf(Operation *op) {
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  return isa<grad::ScatterOp>(op) ? grad::accumulatorOf(element) : element;
}

int64_t gradc::scatterUnits(exec::KernelOp kernel, ArrayRef<int64_t> tile, ArrayRef<int64_t> order,
                            const exec::Level &level) {
  RankedTensorType root = kernel.getRoot();
  int64_t rows = root.getDimSize(order.front()), row = rows ? root.getNumElements() / rows : 0;
  if (level.isCuda() || row == 0 ||
      (kernel.getRows() && llvm::any_of(*kernel.getRows(), [](int64_t n) { return n != 0; })))
    return 0;
  int64_t bytes = 0, updates = 0;
  for (Operation *found : scattersOf(kernel)) {
    auto op = cast<grad::ScatterOp>(found);
    if (op.getResult().getType().getShape() != root.getShape() || !choosesRows(op, order.front()) ||
        !isElementwiseFrom(op.getResult()))
      return 0;
    bytes += row * grad::elementBytes(sumOf(op));
    updates += op.getUpdates().getType().getNumElements() / row;
  }
  if (updates < manyUpdates)
    return 0;
  // The other half is for the updates, and for what the results are computed from.
  int64_t units = llvm::divideCeil(rows, tile[order.front()]);
  return std::min(units, level.cachedBytes() / 2 / (bytes * tile[order.front()]));
}

SmallVector<RankedTensorType> gradc::scatterSums(exec::KernelOp kernel) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  if (!schedule || !schedule.getScatterUnits())
    return {};
  int64_t dim = schedule.getOrder().front();
  SmallVector<int64_t> shape(kernel.getRoot().getShape());
  shape[dim] = schedule.getScatterUnits() * schedule.getTile()[dim];
  return llvm::map_to_vector(
      scattersOf(kernel), [&](Operation *op) { return RankedTensorType::get(shape, sumOf(op)); });
}

int64_t gradc::scatterOffset(exec::KernelOp kernel, size_t scatter) {
  SmallVector<RankedTensorType> sums = scatterSums(kernel);
  int64_t bytes = 0;
  for (RankedTensorType before : ArrayRef(sums).take_front(scatter))
    bytes += llvm::alignTo(grad::bytesOf(before), 64);
  return bytes;
}

int64_t gradc::scatterScratch(exec::KernelOp kernel) {
  return scatterOffset(kernel, scatterSums(kernel).size());
}
