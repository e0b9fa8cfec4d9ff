// Follows operands through views, and buffers from their loads to their stores.
#include "passes/support/LaunchOrder.h"

#include "dialects/grad/Grad.h"

using namespace mlir;

Value gradc::storageRoot(Value v) {
  while (auto view = v.getDefiningOp<grad::ReshapeOp>()) // the one view; it has no loops to ask for
    v = view.getOperand();
  return v;
}

FlatSymbolRefAttr gradc::storedBuffer(Value v) {
  for (Operation *user : v.getUsers())
    if (auto store = dyn_cast<exec::StoreOp>(user))
      return store.getBufferAttr();
  return nullptr;
}

FlatSymbolRefAttr gradc::loadedBuffer(Value v) {
  auto load = storageRoot(v).getDefiningOp<exec::LoadOp>();
  return load ? load.getBufferAttr() : FlatSymbolRefAttr();
}

gradc::LaunchesBefore gradc::launchesBefore(Block &block) {
  LaunchesBefore before;
  llvm::DenseMap<Attribute, SmallVector<exec::LaunchOp>> readers;
  for (auto launch : block.getOps<exec::LaunchOp>()) {
    auto &set = before[launch];
    for (Value v : launch.getOperands()) {
      Value root = storageRoot(v);
      if (auto producer = root.getDefiningOp<exec::LaunchOp>())
        set.insert(producer);
      else if (auto load = root.getDefiningOp<exec::LoadOp>())
        readers[load.getBufferAttr()].push_back(launch);
    }
  }
  for (auto &[launch, set] : before)
    for (Value v : launch.getResults())
      if (auto buffer = storedBuffer(v))
        for (exec::LaunchOp reader : readers[buffer])
          if (reader != launch)
            set.insert(reader);
  return before;
}

std::optional<std::vector<exec::LaunchOp>> gradc::orderLaunches(const LaunchesBefore &before) {
  std::vector<exec::LaunchOp> order;
  llvm::SmallPtrSet<Operation *, 32> done;
  while (order.size() < before.size()) {
    size_t count = order.size();
    for (const auto &[launch, set] : before)
      if (!done.contains(launch) &&
          llvm::all_of(set, [&](Operation *o) { return done.contains(o); })) {
        order.push_back(launch);
        done.insert(launch);
      }
    if (order.size() == count)
      return std::nullopt;
  }
  return order;
}
