// Cuts the forward of a training step into stages, before its gradients exist.
#include "passes/Passes.h"

#include "dialects/grad/Backward.h"
#include "dialects/grad/control/Control.h"
#include "passes/entry/Functions.h"
#include "passes/training/StepAttributes.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_ASSIGNSTAGES
#include "passes/Passes.h.inc"

namespace {

/// Cuts the ops of one objective. In program order:
/// 1. An op counts if it depends on a state, or if it computes more than a few numbers per result:
///    every stage that needs another op computes it by itself from the inputs.
/// 2. A prefix of the ops has a cost, and the cut behind it a number of bytes that cross it.
/// 3. Of all cuts into stages, take the one whose most expensive stage is cheapest.
class Cutting {
public:
  Cutting(func::FuncOp function, GradientOp request, int64_t stages)
      : function(function), stages(stages) {
    for (Operation *op : producersOf(request.getObjective()))
      if (!isa<ReadOp, ConstantOp>(op) && (dependsOnStates(op) || isExpensive(op)))
        ops.push_back(op);
  }

  LogicalResult run() {
    if (int64_t(ops.size()) < stages)
      return function.emitError("expected at least one op for each of ")
             << stages << " stages, found " << ops.size() << " that depend on parameters";
    findCosts();
    findCrossings();
    std::vector<size_t> begins = findBegins();
    Builder b(function.getContext());
    for (auto [i, op] : llvm::enumerate(ops)) {
      auto stage = llvm::upper_bound(begins, i) - begins.begin() - 1;
      op->setAttr(stageName, b.getI64IntegerAttr(stage));
    }
    return success();
  }

private:
  /// The flops that take as long as sending a byte: a link of 1 GB/s, a core of 20 GF/s.
  static constexpr double flopsPerByte = 20;
  /// The flops that take as long as updating a byte of a parameter: its update reads and writes it
  /// and the optimizer's slots.
  static constexpr double updatePerByte = 5;

  /// The value outside of all loops that an argument of a loop begins with.
  static Value outside(Value v) {
    while (auto argument = dyn_cast<BlockArgument>(v)) {
      auto scan = dyn_cast<ScanOp>(argument.getOwner()->getParentOp());
      if (!scan)
        break;
      v = scan.getOperand(argument.getArgNumber());
    }
    return v;
  }

  bool dependsOnStates(Value v) {
    v = outside(v);
    Operation *op = v.getDefiningOp();
    if (!op)
      return false;
    auto [known, isNew] = stateful.try_emplace(op, isa<ReadOp>(op));
    if (isNew && !isa<ReadOp>(op)) {
      bool depends = dependsOnStates(op);
      stateful[op] = depends;
    }
    return stateful[op];
  }
  bool dependsOnStates(Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value v) { return dependsOnStates(v); });
  }

  static double flopsOf(Operation *op) {
    auto cost = dyn_cast<CostOpInterface>(op);
    return cost ? double(cost.getFlops()) : 0;
  }
  static double elementsOf(Operation *op) {
    double elements = 1;
    for (Value v : op->getResults())
      elements += double(cast<RankedTensorType>(v.getType()).getNumElements());
    return elements;
  }
  static bool isExpensive(Operation *op) { return flopsOf(op) > 32 * elementsOf(op); }

  /// Collects the reads of states that a value is computed from, through ops that only depend on
  /// states.
  void findReads(Value v, llvm::SetVector<Operation *> &reads) {
    v = outside(v);
    Operation *op = v.getDefiningOp();
    if (!op || position.contains(op))
      return;
    if (isa<ReadOp>(op))
      reads.insert(op);
    for (Value operand : op->getOperands())
      findReads(operand, reads);
  }

  /// The gradient of an op costs twice the op.
  void findCosts() {
    for (auto [i, op] : llvm::enumerate(ops))
      position[op] = i;
    costs.assign(ops.size() + 1, 0);
    for (auto [i, op] : llvm::enumerate(ops)) {
      double cost = 3 * (flopsOf(op) + 4 * elementsOf(op));
      llvm::SetVector<Operation *> reads;
      for (Value v : op->getOperands())
        findReads(v, reads);
      for (Operation *read : reads) {
        auto [at, isNew] = readers.try_emplace(read, std::pair(i, i));
        at->second.second = i;
        if (isNew)
          cost += updatePerByte * double(bytesOf(read->getResult(0)));
      }
      costs[i + 1] = costs[i] + cost;
    }
  }

  void addCrossing(size_t first, size_t last, int64_t bytes) {
    for (size_t i = first; i < last; ++i)
      crossings[i + 1] += double(bytes);
  }

  /// A value crosses all cuts between its op and its last reader, and so does its gradient. So does
  /// a parameter with several readers.
  void findCrossings() {
    crossings.assign(ops.size() + 1, 0);
    for (auto [i, op] : llvm::enumerate(ops))
      for (Value v : op->getResults()) {
        size_t last = i;
        for (Operation *user : v.getUsers())
          if (auto at = position.find(user); at != position.end())
            last = std::max(last, at->second);
        addCrossing(i, last, bytesOf(v));
      }
    for (auto [read, range] : readers)
      addCrossing(range.first, range.second, bytesOf(read->getResult(0)));
  }

  /// The first op of each stage: dynamic programming over (stages so far, ops so far).
  std::vector<size_t> findBegins() const {
    size_t n = ops.size();
    std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
    std::vector<std::vector<size_t>> from(size_t(stages), std::vector<size_t>(n + 1));
    best[0] = 0;
    for (size_t s = 0; s < size_t(stages); ++s) {
      std::vector<double> next(n + 1, std::numeric_limits<double>::infinity());
      for (size_t end = s + 1; end <= n; ++end)
        for (size_t begin = s; begin < end; ++begin) {
          double own = costs[end] - costs[begin] + 2 * flopsPerByte * crossings[begin];
          double whole = std::max(best[begin], own);
          if (whole < next[end]) {
            next[end] = whole;
            from[s][end] = begin;
          }
        }
      best = std::move(next);
    }
    std::vector<size_t> begins(static_cast<size_t>(stages));
    size_t end = n;
    for (size_t s = size_t(stages); s-- > 0; end = begins[s])
      begins[s] = from[s][end];
    return begins;
  }

  func::FuncOp function;
  int64_t stages;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, size_t> position;
  llvm::DenseMap<Operation *, bool> stateful;
  llvm::MapVector<Operation *, std::pair<size_t, size_t>> readers; ///< of a read: first and last
  std::vector<double> costs;                                       ///< of the first i ops
  std::vector<double> crossings; ///< bytes that cross the cut before op i
};

struct AssignStages : impl::AssignStagesBase<AssignStages> {
  void runOnOperation() override {
    for (auto function : functionsOf(getOperation())) {
      auto stages = function->getAttrOfType<IntegerAttr>(stagesName);
      if (!stages)
        continue;
      GradientOp last; // the loss's: those of the model come before
      function.walk([&](GradientOp request) { last = request; });
      if (last && failed(Cutting(function, last, stages.getInt()).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace gradc
