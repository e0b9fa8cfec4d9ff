// Updates have to be found for each target. A search by every tile takes time with the number of
// targets times that of updates. Here, each group of targets along the dim that indices choose
// along reads all indices once; along another dim, each index is read once for its own targets.
#include "passes/layout/ScatterSums.h"

#include "dialects/grad/Build.h"
#include "passes/kernel/Clusters.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

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

/// The only dim along which an index chooses the targets; -1: there are several.
static int64_t chosenDim(grad::ScatterOp op) {
  auto isIndex = [](int64_t from) { return from < 0; };
  ArrayRef<int64_t> dims = op.getDims();
  const auto *at = llvm::find_if(dims, isIndex);
  return llvm::count_if(dims, isIndex) == 1 ? at - dims.begin() : -1;
}

/// The updates of whole rows: of all elements behind an index that chooses a target.
static int64_t updatesOf(grad::ScatterOp op) {
  RankedTensorType targets = op.getResult().getType();
  return op.getUpdates().getType().getNumElements() /
         (targets.getNumElements() / targets.getDimSize(chosenDim(op)));
}

/// Whether each unit along `dim` of the root can add up the updates of its own targets.
static bool hasSumsOfUnits(grad::ScatterOp op, int64_t dim, exec::KernelOp kernel) {
  int64_t chosen = chosenDim(op);
  if (chosen < 0)
    return false;
  auto isShared = [&](int64_t d) { return llvm::is_contained(op.getDims(), d); };
  // A unit looks at all indices, which are then few: one for all elements of a row.
  if (dim == chosen)
    return !llvm::any_of(op.getIndexDims(), isShared) &&
           llvm::none_of(llvm::seq<int64_t>(0, op.getDims().size()),
                         [&](int64_t d) { return kernel.getRowsOf(d) != 0; });
  // A unit has the targets of all indices. Vectors run along dims further inside, if any, so that
  // these have a fixed size.
  for (int64_t d = chosen; d < int64_t(op.getDims().size()); ++d)
    if (d != dim && kernel.getRowsOf(d) != 0)
      return false;
  return op.getInit().getType().getDimSize(chosen) >= gradc::manyTargets;
}

static Type sumOf(Operation *op) {
  Type element = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  return isa<grad::ScatterOp>(op) ? grad::accumulatorOf(element) : element;
}

int64_t gradc::scatterUnits(exec::KernelOp kernel, ArrayRef<int64_t> tile, ArrayRef<int64_t> order,
                            const exec::Level &level) {
  RankedTensorType root = kernel.getRoot();
  int64_t dim = order.front(), elements = root.getNumElements();
  if (level.isCuda() || elements == 0)
    return 0;
  int64_t bytes = 0, updates = 0;
  bool seesUpdatesOfOthers = false;
  for (Operation *found : scattersOf(kernel)) {
    auto op = cast<grad::ScatterOp>(found);
    if (op.getResult().getType().getShape() != root.getShape() ||
        !hasSumsOfUnits(op, dim, kernel) || !isElementwiseFrom(op.getResult()))
      return 0;
    int64_t chosen = chosenDim(op);
    bytes += elements / root.getDimSize(dim) * tile[dim] * grad::elementBytes(sumOf(op));
    updates += updatesOf(op);
    seesUpdatesOfOthers |= chosen == dim;
  }
  if (updates < manyUpdates)
    return 0;
  // Even sums that only a larger cache holds take less time than a search. The result itself, where
  // updates are added to it, may lie in memory: a thread then reads all updates once.
  int64_t units = llvm::divideCeil(root.getDimSize(dim), tile[dim]);
  bool isInPlace = scatterOfResult(kernel);
  if (!seesUpdatesOfOthers)
    return isInPlace || bytes <= level.sharedCacheBytes() ? 1 : 0;
  if (isInPlace)
    return std::min<int64_t>(units, UINT16_MAX);
  // Each group reads all indices, whether one is of its own targets is often predicted wrong, and
  // prefetchers do not follow updates that a group mostly skips. Short rows, and as many updates as
  // there are targets, therefore take less time with sums in the shared cache. Other sums lie in
  // half of what a core caches; the other half is for the updates, and for what the results are
  // computed from.
  bool areShort = bytes <= tile[dim] * level.lineBytes, areMany = updates >= root.getDimSize(dim);
  int64_t most = areShort || areMany ? level.sharedCacheBytes() : level.cachedBytes() / 2;
  return std::min<int64_t>({units, most / bytes, UINT16_MAX});
}

double gradc::searchSeconds(exec::KernelOp kernel, int64_t outer) {
  constexpr double perUpdate = 6e-9; // a branch that is predicted wrong every other time
  double seconds = 0;
  for (Operation *found : scattersOf(kernel)) {
    auto op = cast<grad::ScatterOp>(found);
    if (chosenDim(op) == outer)
      seconds += perUpdate * double(updatesOf(op));
  }
  return seconds;
}

SmallVector<RankedTensorType> gradc::summedUpdates(exec::KernelOp kernel) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  if (!schedule || !schedule.getScatterUnits())
    return {};
  return llvm::map_to_vector(scattersOf(kernel), [](Operation *op) {
    return cast<RankedTensorType>(cast<grad::ScatterOp>(op).getUpdates().getType());
  });
}

SmallVector<RankedTensorType> gradc::scatterSums(exec::KernelOp kernel) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  if (!schedule || !schedule.getScatterUnits() || scatterOfResult(kernel))
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
