// Takes program order for the order of execution. Numbers that depend on arguments alone are never
// waited for.
#include "passes/kernel/TensorLife.h"

#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
#include "passes/entry/NodeOrder.h"
#include "passes/kernel/Clusters.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static RankedTensorType tensorOf(Value v) { return dyn_cast<RankedTensorType>(v.getType()); }

void TensorLife::analyze(Block &block) {
  for (Operation &op : block) {
    int64_t last = -1;
    for (Value v : op.getOperands())
      if (Operation *producer = v.getDefiningOp())
        last = std::max(last, ready.lookup_or(producer, -1));
    bool computesTensor =
        !isa<ReadOp>(op) && !isFree(&op) && loopKind(&op) != LoopKind::view &&
        llvm::any_of(op.getResults(), [](Value v) { return tensorOf(v) && tensorOf(v).getRank(); });
    ready[&op] = computesTensor ? order.lookup(&op) : last;
  }
}

/// The last op that reads the storage itself or through views. Members of `group` count as later
/// than all others.
int64_t TensorLife::lastReader(Value storage, Group *group) const {
  int64_t last = -1;
  SmallVector<Value> views{storage};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      last = std::max(last, graph.of(user) == group ? int64_t(order.size()) : order.lookup(user));
      if (isa<ReshapeOp>(user))
        views.push_back(user->getResult(0));
    }
  return last;
}

int64_t TensorLife::lastAwaited(Group *group) const {
  int64_t last = -1;
  for (Operation *member : group->ops)
    for (Value v : member->getOperands())
      if (Operation *producer = v.getDefiningOp(); producer && graph.of(producer) != group)
        last = std::max(last, ready.lookup_or(producer, -1));
  return last;
}

/// Whether an op outside `group` reads the storage element by element, for a result of its size
/// that may be placed there.
bool TensorLife::mayBeOverwritten(Value storage, Group *group) const {
  SmallVector<Value> views{storage};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (isa<ReshapeOp>(user))
        views.push_back(user->getResult(0));
      else if (graph.of(user) != group && loopKind(user) == LoopKind::elementwise &&
               tensorOf(user->getResult(0)).getNumElements() == tensorOf(storage).getNumElements())
        return true;
    }
  return false;
}

/// Whether `group` waits for a value that others compute from the storage.
bool TensorLife::awaitsValueOf(Value storage, Group *group) const {
  int64_t first = order.lookup(storage.getDefiningOp());
  llvm::SetVector<Operation *> makers;
  auto addMakers = [&](Operation *op) {
    for (Value v : op->getOperands())
      if (Operation *maker = v.getDefiningOp();
          maker && graph.of(maker) != group && order.lookup(maker) > first)
        makers.insert(maker);
  };
  llvm::for_each(group->ops, addMakers);
  for (size_t i = 0; i < makers.size(); ++i) {
    if (!isa<ReshapeOp>(makers[i]) &&
        llvm::any_of(makers[i]->getOperands(), [&](Value v) { return storageRoot(v) == storage; }))
      return true;
    addMakers(makers[i]);
  }
  return false;
}

bool TensorLife::isProlonged(Operation *op, Group *group) const {
  constexpr int64_t fraction = 16;
  int64_t made = tensorOf(op->getResult(0)).getNumElements();
  for (Value v : op->getOperands()) {
    Value storage = storageRoot(v);
    Operation *producer = storage.getDefiningOp();
    RankedTensorType type = tensorOf(storage);
    if (!producer || !type || isFree(producer) || isa<ReadOp>(producer) ||
        bytesOf(type) < limits.minProlongedBytes || type.getNumElements() < fraction * made)
      continue;
    if (lastAwaited(group) > std::max(order.lookup(op), lastReader(storage, group)) ||
        (loopKind(op) == LoopKind::movement && mayBeOverwritten(storage, group) &&
         awaitsValueOf(storage, group)))
      return true;
  }
  return false;
}
