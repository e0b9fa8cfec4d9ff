// Kernel forming. Ops are visited in reverse program order, so that all users of an op already have
// a cluster. An op joins its users' cluster if that causes no repeated work and no cycle.
#include "passes/kernel/Clusters.h"

#include "dialects/grad/math/Count.h"
#include "passes/kernel/BatchReductions.h"
#include "passes/kernel/BlockWalks.h"
#include "passes/kernel/GroupGraph.h"
#include "passes/kernel/PadSums.h"
#include "passes/kernel/TensorLife.h"
#include "passes/kernel/TurnEdges.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {

LoopKind loopKind(Operation *op) {
  if (auto loops = dyn_cast<LoopsOpInterface>(op))
    return loops.getLoopKind();
  if (isa<AttentionOpInterface>(op))
    return LoopKind::contraction;
  if (writesRows(op) || op->hasTrait<grad::OwnKernel>())
    return LoopKind::assembly;
  // A composite that was kept whole for a library has its loops once it is decomposed.
  return op->hasTrait<grad::Pointwise>() ? LoopKind::elementwise : LoopKind::view;
}

static RankedTensorType typeOf(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType());
}

int64_t widestElement(Operation *kernel) {
  int64_t widest = 4;
  kernel->walk([&](Operation *op) {
    for (Value v : op->getResults())
      if (auto element = dyn_cast<FloatType>(getElementTypeOrSelf(v)))
        widest = std::max(widest, elementBytes(element));
  });
  return widest;
}

bool movesLanes(Operation *op) {
  auto movement = dyn_cast<MovementOpInterface>(op);
  if (!movement)
    return false;
  SmallVector<int64_t> dims = movement.getResultDims();
  return !dims.empty() && llvm::is_contained(ArrayRef(dims).drop_back(), typeOf(op).getRank() - 1);
}

bool isFree(Operation *op) {
  return isPure(op) && loopKind(op) != LoopKind::view && loopKind(op) != LoopKind::assembly &&
         (op->getNumOperands() == 0 ||
          (loopKind(op) == LoopKind::movement && op->getNumOperands() == 1 &&
           typeOf(op).getNumElements() >
               cast<ShapedType>(op->getOperand(0).getType()).getNumElements()));
}

namespace {
/// How a cluster reads a value, relative to its root space: the value's leading `prefix` dims
/// follow the root's leading dims. A reduction walks the remaining dims (`inner`), a column sum
/// does so once for the whole root (`columns`), or they are indexed in another way (`scattered`:
/// broadcast columns, transposes, slices). The reader may be a window (`windowed`).
struct Access {
  int64_t prefix = 0;
  bool inner = false;
  bool columns = false;
  bool scattered = false;
  bool windowed = false;

  bool operator==(const Access &o) const = default;
  /// Whether a value of `type` is needed only once per index of the prefix.
  bool once(RankedTensorType type) const {
    return !inner && !columns && !scattered && prefix == type.getRank();
  }
  /// Both ways at once.
  Access operator|(const Access &o) const {
    if (*this == o)
      return o;
    return {std::min(prefix, o.prefix), true, false,
            columns || o.columns || scattered || o.scattered, windowed || o.windowed};
  }
};

/// Whether repeating the op costs no more than reading its result again: it has one tensor operand
/// as large as the result, and all users walk their operands once. No user may be a composite that
/// was kept for a library, because a library reads its operands from memory.
bool isRepeatable(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!cost || !cost.isCheapToRepeat() || op->hasOneUse())
    return false;
  auto isLarge = [](Value v) {
    Operation *producer = v.getDefiningOp();
    return !producer || !isFree(producer);
  };
  llvm::SmallPtrSet<Value, 2> large;
  for (Value v : llvm::make_filter_range(op->getOperands(), isLarge))
    large.insert(v);
  return large.size() == 1 && llvm::all_of(op->getUsers(), [](Operation *user) {
           return (loopKind(user) == LoopKind::elementwise && !isa<DecomposeOpInterface>(user)) ||
                  loopKind(user) == LoopKind::reduction;
         });
}

/// Whether `small` is a leading prefix of `large`.
bool isPrefix(ArrayRef<int64_t> small, ArrayRef<int64_t> large) {
  return small.size() <= large.size() && large.take_front(small.size()) == small;
}

class Former {
public:
  Former(Block &block, const exec::KernelLimits &limits)
      : block(block), limits(limits), life(graph, limits, order), pads(graph) {}

  std::vector<Cluster> run() {
    cloneRepeatedOps();
    TurnEdges edges(block);
    number();
    edges.add();
    for (Operation &op : llvm::reverse(block))
      if (loopKind(&op) != LoopKind::view)
        place(&op);
      else
        graph.addView(&op);
    mergeScalars();
    return finish();
  }

private:
  /// Kernels that share a count, such as 1 / n of a mean, would wait for each other.
  void cloneRepeatedOps() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (!isFree(&op) && !isRepeatable(&op) && !isCountOfRun(&op))
        continue;
      if (op.use_empty()) {
        op.erase();
        continue;
      }
      llvm::SetVector<Operation *> users(op.user_begin(), op.user_end());
      for (Operation *user : users.getArrayRef().drop_front()) {
        Operation *copy = op.clone();
        block.getOperations().insertAfter(Block::iterator(op), copy);
        user->replaceUsesOfWith(op.getResult(0), copy->getResult(0));
      }
    }
  }

  void number() {
    for (auto [i, op] : llvm::enumerate(block))
      order[&op] = int64_t(i);
    life.analyze(block);
    pads.analyze(block);
    batches.analyze(block, limits);
  }

  /// How `group` reads the result of `op`, over all of its users there.
  Access accessOf(Operation *op, Group *group) const {
    std::optional<Access> result;
    for (Operation *user : op->getUsers()) {
      if (graph.of(user) != group)
        continue;
      Access how = throughUser(op, user);
      result = result ? *result | how : how;
    }
    return *result;
  }

  Access throughUser(Operation *op, Operation *user) const {
    Access outer = access.lookup(user);
    int64_t rank = typeOf(op).getRank();
    switch (loopKind(user)) {
    case LoopKind::elementwise:
      return outer;
    case LoopKind::reduction:
      if (auto window = dyn_cast<WindowOpInterface>(user))
        return throughWindow(op, window, outer);
      if (!isa<ReductionOpInterface>(user)) // it reads all updates for each of its targets
        return {0, true, false, true};
      if (reducesTrailing(user))
        return {outer.prefix, true, outer.columns, outer.scattered};
      if (outer.once(typeOf(user)))
        return {0, false, true, false};
      return {0, true, false, true};
    case LoopKind::movement:
      if (rank == 0)
        return {};
      // A broadcast along trailing dims reads its operand once per row.
      if (broadcastsRows(user) && !outer.scattered && !outer.columns)
        return {std::min(outer.prefix, rank), outer.inner && rank > outer.prefix, false, false};
      return {0, outer.inner, false, true, outer.windowed};
    default:
      return {0, true, false, true};
    }
  }

  /// Overlapping windows would compute shared elements repeatedly; other windows walk the operand
  /// once, in their own order.
  static Access throughWindow(Operation *op, WindowOpInterface window, const Access &outer) {
    auto readsAgain = [&](OpOperand &operand) {
      return operand.get().getDefiningOp() == op && !window.readsOnce(operand.getOperandNumber());
    };
    return {0, true, outer.columns,
            outer.scattered || llvm::any_of(window->getOpOperands(), readsAgain),
            /*windowed=*/true};
  }

  /// A window reads vectors of elements that lie side by side. If a transpose put them there, its
  /// kernel would gather each tap of each window from as many cache lines as a vector has lanes.
  bool gathersTaps(Operation *op, Group *group, Access how) const {
    return how.windowed && movesLanes(op) && !isSmall(group);
  }

  /// A reduction of rows reads vectors along them, and what is computed from it reads them again.
  /// If a transpose put their elements side by side, each pass would gather them, of which the root
  /// may have one for each row; few of them may be repeated over a large root.
  bool gathersRows(Operation *op, Group *group, Access how) const {
    return how.inner && group->hasReduction && movesLanes(op) &&
           (!isSmall(group) || typeOf(op).getNumElements() > limits.maxSmallElements);
  }

  /// Whether `op` may be computed inside `group`, which reads it as `how`. What is joined may be
  /// slices, as in a roll. Pads would gather what is moved under their slices element by element.
  bool mayJoin(Operation *op, Group *group, Access how) const {
    if (group->joins || pads.isPadded(op, group))
      return PadSums::isPlainSlice(op) && (group->joins || !group->closed);
    if (group->closed || walksBlocks(op, limits))
      return false;
    RankedTensorType type = typeOf(op);
    bool once = how.once(type);
    switch (loopKind(op)) {
    case LoopKind::contraction:
      return group->contraction == op || (once && type.getShape() == group->root.getShape() &&
                                          !group->contraction && !group->hasReduction);
    case LoopKind::reduction:
      if (group->contraction || (group->hasReduction && batches.productOf(op)))
        return false;
      // At the root, or a row statistic that shares the root's row loop.
      if (once)
        return type.getRank() == group->root.getRank() || reducesTrailing(op);
      return !how.scattered && !how.columns &&
             cast<ShapedType>(op->getOperand(0).getType()).getNumElements() <=
                 limits.maxRepeatedElements;
    case LoopKind::elementwise: {
      // A contraction's epilogue stays with the contraction instead of joining a reduction's
      // kernel.
      Operation *before = group->hasReduction ? contractionBefore(op) : nullptr;
      return isFree(op) || (!how.scattered && (!before || before == group->contraction));
    }
    case LoopKind::movement:
      return isFree(op) || !(group->contraction || gathersTaps(op, group, how) ||
                             gathersRows(op, group, how) || (group->hasPads && how.scattered));
    case LoopKind::assembly:
      return once && type.getShape() == group->root.getShape() && pads.isTerm(op, group);
    default:
      return false;
    }
  }

  /// Whether `op` may also be written out by `group`: at the root, or once per row (a scalar would
  /// be written by every unit).
  static bool mayBeResult(Operation *op, Group *group, Access how) {
    RankedTensorType type = typeOf(op);
    return type.getShape() == group->root.getShape() ||
           (type.getRank() > 0 && how.once(type) &&
            isPrefix(type.getShape(), group->root.getShape()));
  }

  void add(Operation *op, Group *group, Access how) {
    graph.add(op, group);
    access[op] = how;
    if (loopKind(op) == LoopKind::contraction)
      group->contraction = op;
    if (loopKind(op) == LoopKind::reduction) {
      group->hasReduction = true;
      // The product of a batch follows its reduction, and no other one does.
      if (how.once(typeOf(op)) && typeOf(op).getShape() == group->root.getShape())
        group->contraction = batches.productOf(op);
    }
    group->hasPads |= PadSums::isPad(op);
  }

  bool isSmall(Group *group) const {
    return group->root.getNumElements() <= limits.maxSmallElements;
  }

  bool mayMerge(Group *a, Group *b, int64_t maxTensors) const {
    return a->root.getShape() == b->root.getShape() && !a->closed && !b->closed &&
           !(a->contraction && (b->contraction || b->hasReduction)) &&
           !(b->contraction && a->hasReduction) && !a->hasPads && !b->hasPads &&
           countTensors(a) + countTensors(b) <= maxTensors && !graph.reaches(a, b) &&
           !graph.reaches(b, a);
  }

  int64_t countTensors(Group *group) const {
    if (!group->count)
      group->count = countTensors(group, nullptr);
    return *group->count;
  }

  /// Tensors that a group would read or write if `joining` were added.
  int64_t countTensors(Group *group, Operation *joining) const {
    auto isInside = [&](Operation *op) { return op == joining || graph.of(op) == group; };
    llvm::SmallPtrSet<Value, 32> tensors;
    auto count = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            !producer || !(isInside(producer) || isFree(producer)))
          tensors.insert(operand);
      if (!llvm::all_of(op->getUsers(), isInside))
        tensors.insert(op->getResult(0));
    };
    llvm::for_each(group->ops, count);
    if (joining)
      count(joining);
    return int64_t(tensors.size());
  }

  void start(Operation *op) {
    Group *group = graph.create();
    group->root = typeOf(op);
    group->closed = loopKind(op) == LoopKind::assembly || walksBlocks(op, limits);
    group->joins = isa<ConcatenateOp>(op);
    add(op, group, {group->root.getRank(), false, false, false});
  }

  void place(Operation *op) {
    llvm::SetVector<Group *> users;
    bool external = false;
    for (Operation *user : op->getUsers()) {
      if (Group *group = graph.of(user))
        users.insert(group);
      else
        external = true;
    }
    // Independent users with the same root space become one kernel. If they have only a scalar in
    // common, this is limited to small users: large ones belong in their contractions' kernels.
    bool isNumber = typeOf(op).getRank() == 0;
    for (size_t i = 0; i < users.size(); ++i)
      for (size_t j = users.size() - 1; j > i; --j)
        if ((!isNumber || isSmall(users[i])) &&
            mayMerge(users[i], users[j],
                     isNumber ? limits.maxTensorsSideBySide : limits.maxTensors)) {
          graph.merge(users[i], users[j]);
          users.remove(users[j]);
        }
    bool shared = external || users.size() > 1;
    for (Group *group : users) {
      if (shared && isNumber && group->root.getRank() > 0) // a number is no result among tensors
        continue;
      Access how = accessOf(op, group);
      if (!mayJoin(op, group, how) || (shared && !mayBeResult(op, group, how)) ||
          life.isProlonged(op, group))
        continue;
      if (!isFree(op) && countTensors(group, op) > limits.maxTensors)
        continue;
      if (llvm::any_of(users, [&](Group *g) { return g != group && graph.reaches(g, group); }))
        continue;
      // Through a view or a write, the result leaves the kernel and may come back.
      if (external && graph.viewsReach(op, group))
        continue;
      return add(op, group, how);
    }
    start(op);
  }

  /// Scalar kernels cost little more than their launch, so independent ones are merged.
  void mergeScalars() {
    std::vector<Group *> scalars;
    for (Group &group : graph.all())
      if (!group.ops.empty() && group.root.getRank() == 0 && !group.hasReduction)
        scalars.push_back(&group);
    for (size_t i = 0; i < scalars.size(); ++i)
      for (size_t j = i + 1; j < scalars.size(); ++j)
        if (!scalars[i]->ops.empty() && !scalars[j]->ops.empty() &&
            mayMerge(scalars[i], scalars[j], limits.maxTensors))
          graph.merge(scalars[i], scalars[j]);
  }

  /// Puts a storage rounding in the kernel of what it rounds: other kernels read the rounded value.
  void storeWithProducers() {
    for (auto cast : block.getOps<CastOp>()) {
      Group *maker = graph.of(cast.getOperand().getDefiningOp());
      if (maker && !maker->closed && cast.getStorage() && !cast.isCheapToRepeat())
        graph.move(cast, maker);
    }
  }

  std::vector<Cluster> finish() {
    storeWithProducers();
    std::vector<Cluster> clusters;
    for (Group &group : graph.all()) {
      if (group.ops.empty())
        continue;
      llvm::sort(group.ops, [&](Operation *a, Operation *b) { return order[a] < order[b]; });
      clusters.push_back({group.ops});
    }
    llvm::sort(clusters, [&](const Cluster &a, const Cluster &b) {
      return order[a.ops.back()] < order[b.ops.back()];
    });
    return clusters;
  }

  Block &block;
  const exec::KernelLimits &limits;
  GroupGraph graph;
  TensorLife life;
  PadSums pads;
  BatchReductions batches;
  llvm::DenseMap<Operation *, Access> access;
  llvm::DenseMap<Operation *, int64_t> order;
};

} // namespace

bool reducesTrailing(Operation *op) {
  auto reduction = dyn_cast<ReductionOpInterface>(op);
  int64_t kept = typeOf(op).getRank();
  return reduction &&
         llvm::all_of(reduction.getReducedDims(), [&](int64_t d) { return d >= kept; });
}

bool broadcastsRows(Operation *op) {
  auto movement = dyn_cast<MovementOpInterface>(op);
  if (!movement || !isFree(op))
    return false;
  SmallVector<int64_t> dims = movement.getResultDims();
  return llvm::equal(dims, llvm::seq<int64_t>(0, dims.size()));
}

FailureOr<std::vector<Cluster>> formClusters(Block &block, const exec::KernelLimits &limits) {
  for (Operation &op : block)
    if (isa<DecomposeOpInterface>(op) && loopKind(&op) == LoopKind::view)
      return op.emitOpError("expected composite ops to be decomposed before kernels form");
  return Former(block, limits).run();
}

} // namespace gradc
