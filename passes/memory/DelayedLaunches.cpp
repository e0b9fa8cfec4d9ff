// Greedy: at the node with peak memory, delays the launch that frees most bytes there, while the
// peak falls.
#include "passes/memory/DelayedLaunches.h"

#include <numeric>

using namespace mlir;
using namespace gradc;

namespace {

// A try looks at all nodes. In networks so far, one or two moves lower the peak, and the first try
// that lowers it is the first or second.
constexpr int maxMoves = 16, maxTries = 4;

class Delay {
public:
  Delay(std::vector<Operation *> &order, const NodesBefore &before, const SymbolTable &symbols)
      : order(order) {
    for (Operation *node : order)
      for (OpResult result : node->getResults())
        if (int64_t size = arenaBytes(result, symbols)) {
          numbers[result] = bytes.size();
          bytes.push_back(size);
        }
    for (const auto &[node, earlier] : before)
      for (Operation *e : earlier)
        after[e].push_back(node);
    for (Operation *node : order)
      if (auto launch = dyn_cast<exec::LaunchOp>(node))
        noteOverlays(launch, symbols.lookup<exec::KernelOp>(launch.getKernel()));
  }

  void run() {
    findLifetimes();
    int moves = 0;
    while (moves < maxMoves && delayOne())
      ++moves;
  }

private:
  struct Candidate {
    size_t from;
    int64_t gain;
  };

  /// A result of a launch, and an operand whose memory it takes if no later node reads that.
  struct Overlay {
    size_t result, operand;
  };

  void noteOverlays(exec::LaunchOp launch, exec::KernelOp kernel) {
    auto numberOf = [&](Value v) -> std::optional<size_t> {
      auto number = numbers.find(storageRoot(v));
      return number == numbers.end() ? std::nullopt : std::optional(number->second);
    };
    auto timesRead = [&](size_t tensor) {
      return llvm::count_if(launch.getOperands(), [&](Value v) { return numberOf(v) == tensor; });
    };
    for (OpResult result : launch.getResults())
      for (OpOperand &operand : launch->getOpOperands()) {
        auto over = numberOf(result), under = numberOf(operand.get());
        if (over && under && timesRead(*under) == 1 &&
            kernel.mayOverwrite(operand.getOperandNumber(), result.getResultNumber()))
          overlays[launch].push_back({*over, *under});
      }
  }

  /// The bytes of a node's results that take the memory of operands.
  int64_t overlaidBytes(Operation *node, size_t at) const {
    auto found = overlays.find(node);
    if (found == overlays.end())
      return 0;
    llvm::SmallSetVector<size_t, 4> taken;
    int64_t sum = 0;
    for (const Overlay &overlay : found->second)
      if (last[overlay.operand] == at && !taken.contains(overlay.operand) &&
          taken.insert(overlay.result)) {
        taken.insert(overlay.operand);
        sum += bytes[overlay.result];
      }
    return sum;
  }

  /// The tensors of the arena that a node reads or writes.
  llvm::SmallSetVector<size_t, 8> tensorsOf(Operation *node) const {
    llvm::SmallSetVector<size_t, 8> tensors;
    auto add = [&](Value v) {
      if (auto number = numbers.find(storageRoot(v)); number != numbers.end())
        tensors.insert(number->second);
    };
    llvm::for_each(node->getOperands(), add);
    llvm::for_each(node->getResults(), add);
    return tensors;
  }

  /// Computes positions, lifetimes and the bytes that are live at each node.
  void findLifetimes() {
    position.clear();
    first.assign(bytes.size(), order.size());
    last.assign(bytes.size(), 0);
    for (auto [i, node] : llvm::enumerate(order)) {
      position[node] = i;
      for (size_t tensor : tensorsOf(node)) {
        first[tensor] = std::min(first[tensor], i);
        last[tensor] = i;
      }
    }
    live.assign(order.size() + 1, 0);
    for (size_t tensor = 0; tensor < bytes.size(); ++tensor) {
      live[first[tensor]] += bytes[tensor];
      live[last[tensor] + 1] -= bytes[tensor];
    }
    std::partial_sum(live.begin(), live.end(), live.begin());
    for (auto [i, node] : llvm::enumerate(order))
      live[i] -= overlaidBytes(node, i);
  }

  /// The bytes that are not live at the peak if a launch before it runs right after it.
  int64_t gainOf(size_t from, size_t peak) const {
    Operation *node = order[from];
    auto later = after.find(node);
    bool isFree = later == after.end() || llvm::all_of(later->second, [&](Operation *op) {
                    return position.lookup(op) > peak;
                  });
    if (!isa<exec::LaunchOp>(node) || !isFree)
      return 0;
    int64_t gain = 0;
    for (size_t tensor : tensorsOf(node)) {
      if (first[tensor] == from)
        gain += bytes[tensor];
      else if (last[tensor] < peak)
        gain -= bytes[tensor];
    }
    return gain;
  }

  bool delayOne() {
    auto highest = llvm::max_element(live);
    size_t peak = highest - live.begin();
    int64_t before = *highest;
    std::vector<Candidate> candidates;
    for (size_t from = 0; from < std::min(peak, order.size()); ++from)
      if (int64_t gain = gainOf(from, peak); gain > 0)
        candidates.push_back({from, gain});
    llvm::stable_sort(candidates,
                      [](const Candidate &a, const Candidate &b) { return a.gain > b.gain; });
    candidates.resize(std::min<size_t>(candidates.size(), maxTries));
    for (const Candidate &candidate : candidates) {
      std::vector<Operation *> old = order;
      auto begin = order.begin();
      std::rotate(begin + candidate.from, begin + candidate.from + 1, begin + peak + 1);
      findLifetimes();
      if (*llvm::max_element(live) < before)
        return true;
      order = std::move(old);
      findLifetimes();
    }
    return false;
  }

  std::vector<Operation *> &order;
  llvm::DenseMap<Operation *, SmallVector<Operation *>> after;
  llvm::DenseMap<Value, size_t> numbers; ///< of results in the arena
  llvm::DenseMap<Operation *, SmallVector<Overlay>> overlays;
  std::vector<int64_t> bytes; ///< by number
  llvm::DenseMap<Operation *, size_t> position;
  std::vector<size_t> first, last; ///< positions of the nodes that touch a tensor
  std::vector<int64_t> live;       ///< by position
};

} // namespace

void gradc::delayLaunches(std::vector<Operation *> &order, const NodesBefore &before,
                          const SymbolTable &symbols) {
  Delay(order, before, symbols).run();
}
