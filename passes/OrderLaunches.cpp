// Runs a launch as soon as that frees memory, or behind the node that needs most of it, instead of
// at the position of its node.
#include "dialects/exec/Exec.h"
#include "dialects/grad/training/Transfer.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/memory/DelayedLaunches.h"

#include <set>

using namespace mlir;

namespace gradc {
#define GEN_PASS_DEF_ORDERLAUNCHES
#include "passes/Passes.h.inc"

namespace {

/// Determines the order in which the nodes of one block run.
class Order {
public:
  Order(Block &block, const SymbolTable &symbols)
      : block(block), symbols(symbols), before(nodesBefore(block)),
        beforeSums(opsBeforeSums(block)), turns(turnsOf(before)) {
    for (const auto &[node, set] : before) {
      waits[node] = set.size();
      for (Operation *earlier : set)
        after[earlier].push_back(node);
      for (Value v : storagesOf(node)) {
        ++uses[v];
        readers[v].push_back(node);
      }
    }
  }

  /// Fails if a turn would send what only a later one computes: ranks would wait for each other
  /// forever.
  LogicalResult run() {
    for (const auto &[node, set] : before)
      for (Operation *earlier : set)
        if (turnOf(earlier) > turnOf(node))
          return node->emitOpError("compiler bug: turn ")
                 << turnOf(node) << " of a pipeline needs a value of turn " << turnOf(earlier);
    std::set<int64_t> all = {0};
    for (auto [node, turn] : turns)
      all.insert(turn);
    for (int64_t now : all) {
      turn = now;
      runTurn();
    }
    if (order.size() != before.size())
      return success(); // memory planning reports the error
    if (sums.empty() && turns.empty())
      delayLaunches(order, before, symbols);
    rewrite();
    return success();
  }

private:
  /// Runs the nodes of a turn. The values that the next turn receives are on their way meanwhile.
  void runTurn() {
    for (int64_t from : {turn, turn + 1})
      for (const auto &[node, set] : before)
        if (receives(node) && turnOf(node) == from && !done.contains(node) &&
            waits.lookup(node) == 0)
          take(node);
    for (const auto &[node, set] : before)
      if (isReady(node) && (isScalar(node) || isExchange(node)))
        take(node);
    for (size_t count = ~size_t(0); count != order.size();) { // repeat for nodes that had to wait
      count = order.size();
      for (const auto &[node, set] : before)
        if (isReady(node) && !awaitedBy(node))
          take(node);
      if (count == order.size()) // everything else has run during the sums over ranks
        if (Operation *node = firstAwaiting())
          take(node);
    }
  }

  /// Whether a node begins to exchange values with other ranks, while others run.
  static bool isExchange(Operation *node) {
    return isa<grad::CollectiveOpInterface>(node) || grad::isTransfer(node);
  }

  static bool receives(Operation *node) {
    auto transfer = grad::TransferHalf::of(node);
    return transfer && !transfer->sends;
  }

  int64_t turnOf(Operation *node) const { return turns.lookup(node); }

  /// The storages that a node reads, without repetition.
  llvm::SmallSetVector<Value, 8> storagesOf(Operation *node) const {
    llvm::SmallSetVector<Value, 8> storages;
    for (Value v : node->getOperands())
      storages.insert(storageRoot(v));
    return storages;
  }

  /// Whether the results of a node are tiny in total: many nodes may wait for them.
  bool isScalar(Operation *node) const {
    constexpr int64_t scalarBytes = 64;
    int64_t bytes = 0;
    for (OpResult result : node->getResults())
      bytes += arenaBytes(result, symbols);
    return isa<exec::LaunchOp>(node) && bytes > 0 && bytes <= scalarBytes;
  }

  bool isReady(Operation *node) const {
    return !done.contains(node) && waits.lookup(node) == 0 && turnOf(node) <= turn;
  }

  /// The number of the last sum over ranks that a node has to wait for, counted from 1 in the order
  /// of their starts; 0: none.
  size_t awaitedBy(Operation *node) const {
    size_t last = 0;
    for (Value v : storagesOf(node))
      if (Operation *sum = v.getDefiningOp())
        last = std::max(last, sums.lookup(sum));
    return last > endedSums ? last : 0;
  }

  /// Of the nodes that only wait for sums: prefers nodes on which other sums depend, and among
  /// those the node whose sums started first.
  Operation *firstAwaiting() const {
    auto rank = [&](Operation *node) {
      return std::pair(!beforeSums.contains(node), awaitedBy(node));
    };
    Operation *first = nullptr;
    for (const auto &[node, set] : before)
      if (isReady(node) && (!first || rank(node) < rank(first)))
        first = node;
    return first;
  }

  /// Bytes that running a node now would free.
  int64_t freedBy(Operation *node) {
    int64_t bytes = 0;
    for (Value v : storagesOf(node))
      if (auto result = dyn_cast<OpResult>(v); result && before.contains(result.getOwner()))
        if (uses[v] == 1)
          bytes += arenaBytes(result, symbols);
    for (OpResult result : node->getResults())
      bytes -= arenaBytes(result, symbols);
    return bytes;
  }

  /// Runs a node, and then the nodes that it makes ready if they free memory or need none.
  void take(Operation *first) {
    SmallVector<Operation *> stack{first};
    while (!stack.empty()) {
      Operation *node = stack.pop_back_val();
      if (!done.insert(node).second)
        continue;
      order.push_back(node);
      endedSums = std::max(endedSums, awaitedBy(node));
      if (isExchange(node)) {
        size_t number = sums.size() + 1;
        sums[node] = number;
      }
      llvm::SetVector<Operation *> near; // whose turn may have come
      for (Operation *later : after[node]) {
        --waits[later];
        near.insert(later);
      }
      for (Value v : storagesOf(node)) {
        --uses[v];
        near.insert_range(readers[v]);
      }
      for (Operation *later : llvm::reverse(near))
        if (isReady(later) && !awaitedBy(later) &&
            (isScalar(later) || isExchange(later) || freedBy(later) > 0))
          stack.push_back(later);
    }
  }

  /// Moves the ops: loads first, views before their first readers, stores at the end.
  void rewrite() {
    Operation *end = block.getTerminator();
    SmallVector<Operation *> others;
    for (Operation &op : block.without_terminator())
      if (!before.contains(&op))
        others.push_back(&op);
    for (Operation *op : others)
      if (op->getNumOperands() == 0)
        op->moveBefore(end);
    llvm::DenseSet<Operation *> placed;
    for (Operation *node : order) {
      for (Value v : node->getOperands())
        placeViews(v, end, placed);
      node->moveBefore(end);
    }
    for (Operation *op : others)
      if (op->getNumOperands() > 0 && !placed.contains(op))
        op->moveBefore(end);
  }

  void placeViews(Value v, Operation *end, llvm::DenseSet<Operation *> &placed) {
    auto view = v.getDefiningOp<grad::ReshapeOp>();
    if (!view || view->getBlock() != &block || !placed.insert(view).second)
      return;
    placeViews(view.getOperand(), end, placed);
    view->moveBefore(end);
  }

  Block &block;
  const SymbolTable &symbols;
  NodesBefore before;
  llvm::DenseSet<Operation *> beforeSums;
  llvm::DenseMap<Operation *, int64_t> turns; ///< of the stage of a pipeline; empty: it is none
  int64_t turn = 0;                           ///< whose nodes are being run
  llvm::DenseMap<Operation *, size_t> waits;  ///< number of nodes that must run before a node
  llvm::DenseMap<Operation *, SmallVector<Operation *>> after;
  llvm::DenseMap<Value, SmallVector<Operation *>> readers; ///< by storage, in block order
  llvm::DenseMap<Value, int64_t> uses; ///< by storage: number of nodes that have yet to read it
  llvm::DenseMap<Operation *, size_t>
      sums;             ///< over ranks that have begun: their numbers, from 1 on
  size_t endedSums = 0; ///< how many have ended, in that order
  llvm::DenseSet<Operation *> done;
  std::vector<Operation *> order;
};

struct OrderLaunches : impl::OrderLaunchesBase<OrderLaunches> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto function : functionsOf(getOperation())) {
      SmallVector<Block *> blocks{&function.front()};
      function.walk([&](Operation *op) {
        if (op != function && isNode(op))
          for (Region &region : op->getRegions())
            blocks.push_back(&region.front());
      });
      for (Block *block : blocks)
        if (failed(Order(*block, symbols).run()))
          return signalPassFailure();
    }
  }
};

} // namespace
} // namespace gradc
