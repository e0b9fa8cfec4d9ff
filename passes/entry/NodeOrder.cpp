// Follows operands through views, and buffers from their loads to their stores.
#include "passes/entry/NodeOrder.h"

#include "dialects/grad/training/Transfer.h"

using namespace mlir;

bool gradc::isNode(Operation *op) {
  return isa<exec::LaunchOp, grad::IfOp, grad::ScanOp, grad::CollectiveOpInterface>(op) ||
         grad::isTransfer(op);
}

Value gradc::storageRoot(Value v) {
  while (auto view = v.getDefiningOp<grad::ReshapeOp>()) // the one view; it has no loops to ask for
    v = view.getOperand();
  return v;
}

void gradc::eraseUnusedViews(Value v) {
  while (auto view = v.getDefiningOp<grad::ReshapeOp>()) {
    if (!view->use_empty())
      return;
    v = view.getOperand();
    view.erase();
  }
}

exec::LaunchOp gradc::writerOf(Value stored) {
  auto gather = stored.getDefiningOp<grad::CollectiveOpInterface>();
  if (!gather)
    return stored.getDefiningOp<exec::LaunchOp>();
  Value operand = gather->getOperand(cast<OpResult>(stored).getResultNumber());
  bool isIts = gather.getCollectiveKind() == grad::CollectiveKind::gather && operand.hasOneUse();
  return isIts ? operand.getDefiningOp<exec::LaunchOp>() : exec::LaunchOp();
}

FlatSymbolRefAttr gradc::storedBuffer(Value v) {
  for (OpOperand &use : v.getUses()) {
    if (auto store = dyn_cast<exec::StoreOp>(use.getOwner()))
      return store.getBufferAttr();
    // A gather is stored in the memory of its operand.
    if (auto gather = dyn_cast<grad::CollectiveOpInterface>(use.getOwner());
        gather && gather.getCollectiveKind() == grad::CollectiveKind::gather)
      if (FlatSymbolRefAttr buffer = storedBuffer(gather->getResult(use.getOperandNumber())))
        return buffer;
  }
  return nullptr;
}

FlatSymbolRefAttr gradc::loadedBuffer(Value v) {
  auto load = storageRoot(v).getDefiningOp<exec::LoadOp>();
  return load ? load.getBufferAttr() : FlatSymbolRefAttr();
}

void gradc::forEachReadBuffer(Operation *node, llvm::function_ref<void(FlatSymbolRefAttr)> note) {
  for (Value v : node->getOperands())
    if (FlatSymbolRefAttr buffer = loadedBuffer(v))
      note(buffer);
  for (Region &region : node->getRegions())
    region.walk([&](exec::LoadOp load) { note(load.getBufferAttr()); });
}

bool gradc::readsBuffer(Operation *node, FlatSymbolRefAttr buffer) {
  bool found = false;
  forEachReadBuffer(node, [&](FlatSymbolRefAttr read) { found |= read == buffer; });
  return found;
}

llvm::DenseSet<Operation *> gradc::opsBeforeSums(Block &block) {
  llvm::DenseSet<Operation *> before;
  for (Operation &op : llvm::reverse(block))
    if (isa<grad::CollectiveOpInterface>(op) || before.contains(&op))
      for (Value v : op.getOperands())
        if (Operation *producer = v.getDefiningOp())
          before.insert(producer);
  return before;
}

exec::PanelAttr gradc::layoutOf(Value v, const SymbolTable &symbols) {
  auto result = dyn_cast<OpResult>(v);
  if (!result)
    return nullptr;
  unsigned number = result.getResultNumber();
  if (auto launch = dyn_cast<exec::LaunchOp>(result.getOwner()))
    return symbols.lookup<exec::KernelOp>(launch.getKernel())
        .getLayout(launch.getNumOperands() + number);
  if (auto load = dyn_cast<exec::LoadOp>(result.getOwner()))
    return symbols.lookup<exec::BufferOp>(load.getBuffer()).getLayout().value_or(nullptr);
  if (isa<grad::CollectiveOpInterface>(result.getOwner()))
    return layoutOf(result.getOwner()->getOperand(number), symbols);
  return nullptr;
}

int64_t gradc::layoutBytes(OpResult result, const SymbolTable &symbols) {
  return exec::layoutBytes(cast<RankedTensorType>(result.getType()), layoutOf(result, symbols));
}

int64_t gradc::arenaBytes(OpResult result, const SymbolTable &symbols) {
  if (storedBuffer(result))
    return 0;
  for (Value returned : result.getOwner()->getBlock()->getTerminator()->getOperands())
    if (storageRoot(returned) == result)
      return 0;
  return layoutBytes(result, symbols);
}

gradc::NodesBefore gradc::nodesBefore(Block &block) {
  NodesBefore before;
  llvm::DenseMap<Attribute, SmallVector<Operation *>> readers;
  for (Operation &op : block) {
    if (!isNode(&op))
      continue;
    auto &set = before[&op];
    for (Value v : op.getOperands())
      if (Operation *producer = storageRoot(v).getDefiningOp(); producer && isNode(producer))
        set.insert(producer);
    forEachReadBuffer(&op, [&](FlatSymbolRefAttr buffer) { readers[buffer].push_back(&op); });
  }
  for (auto &[node, set] : before)
    for (Value v : node->getResults())
      if (auto buffer = storedBuffer(v))
        for (Operation *reader : readers[buffer])
          if (reader != node)
            set.insert(reader);
  return before;
}

llvm::DenseMap<Operation *, int64_t> gradc::turnsOf(const NodesBefore &before) {
  llvm::DenseMap<Operation *, int64_t> turns, latest;
  int64_t last = -1;
  for (const auto &[node, set] : before)
    if (auto transfer = grad::TransferHalf::of(node)) {
      turns[node] = transfer->turn;
      last = std::max(last, transfer->turn);
    }
  auto order = last < 0 ? std::nullopt : orderNodes(before);
  if (!order) {
    turns.clear();
    return turns;
  }
  llvm::DenseSet<Operation *> dependent; // on what is received
  for (Operation *node : *order) {
    bool isTransfer = turns.contains(node);
    for (Operation *earlier : before.find(node)->second)
      if (dependent.contains(earlier)) {
        dependent.insert(node);
        if (!isTransfer)
          turns[node] = std::max(turns.lookup(node), turns.lookup(earlier));
      }
    if (isTransfer && node->getNumResults() > 0)
      dependent.insert(node);
  }
  for (Operation *node : llvm::reverse(*order)) {
    auto [turn, isNew] = turns.try_emplace(node, last);
    if (isNew)
      if (auto limit = latest.find(node); limit != latest.end())
        turn->second = limit->second;
    for (Operation *earlier : before.find(node)->second) {
      auto [limit, isFirst] = latest.try_emplace(earlier, turns.lookup(node));
      limit->second = std::min(limit->second, turns.lookup(node));
    }
  }
  return turns;
}

std::optional<std::vector<Operation *>> gradc::orderNodes(const NodesBefore &before) {
  std::vector<Operation *> order;
  llvm::SmallPtrSet<Operation *, 32> done;
  while (order.size() < before.size()) {
    size_t count = order.size();
    for (const auto &[node, set] : before)
      if (!done.contains(node) &&
          llvm::all_of(set, [&](Operation *o) { return done.contains(o); })) {
        order.push_back(node);
        done.insert(node);
      }
    if (order.size() == count)
      return std::nullopt;
  }
  return order;
}
