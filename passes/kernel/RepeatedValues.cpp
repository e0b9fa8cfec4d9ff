// A value is recomputed by a cone: pointwise ops from operands of the reading cluster to the value.
#include "passes/kernel/RepeatedValues.h"

#include "dialects/grad/Build.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The costs, in additions, of a division or root, and of a function that is not an instruction.
static constexpr int64_t opsOfDivision = 4, opsOfFunction = 12;

static int64_t opsOf(Operation &scalar) {
  if (scalar.hasTrait<OpTrait::ConstantLike>() || scalar.hasTrait<OpTrait::IsTerminator>())
    return 0;
  if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(scalar))
    return opsOfDivision;
  bool isInstruction = isa<math::AbsFOp, math::CopySignOp, math::FloorOp, math::CeilOp,
                           math::RoundEvenOp, math::FmaOp, math::IsFiniteOp, math::IsNaNOp>(scalar);
  bool isFunction = isa<math::MathDialect>(scalar.getDialect()) && !isInstruction;
  return isFunction || isa<arith::RemFOp>(scalar) ? opsOfFunction : 1;
}

/// The cost of an element of a pointwise op, counted in the op's loop.
static int64_t opsPerElement(Operation *op) {
  Block block;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  SmallVector<Value> operands;
  for (Value v : op->getOperands())
    operands.push_back(block.addArgument(signlessType(v.getType()), v.getLoc()));
  cast<LoopsOpInterface>(op).lowerToLoops(builder, operands);
  int64_t ops = 0;
  for (auto loop : block.getOps<linalg::GenericOp>())
    for (Operation &scalar : *loop.getBody())
      ops += opsOf(scalar);
  return ops;
}

static bool isElementwise(Operation *op) {
  return isPure(op) && op->getNumResults() == 1 && isa<LoopsOpInterface>(op) &&
         loopKind(op) == LoopKind::elementwise;
}

namespace {

/// 1. Take each pointwise value that only other clusters read, element by element.
/// 2. For each reader, find the cone that computes the value from what the reader reads.
/// 3. If the cones cost less than writing the value once and reading it in each reader, copy them.
class Repeater {
public:
  Repeater(std::vector<Cluster> &clusters, const exec::KernelLimits &limits)
      : clusters(clusters), limits(limits) {
    for (auto [i, cluster] : llvm::enumerate(clusters))
      for (Operation *op : cluster.ops)
        clusterOf[op] = i;
  }

  void run() {
    for (size_t i = 0; i < clusters.size(); ++i)
      for (Operation *op : std::vector<Operation *>(clusters[i].ops))
        if (isElementwise(op))
          repeat(op, i);
    eraseDead();
  }

private:
  using Cone = llvm::SetVector<Operation *>;

  bool isIn(Operation *op, size_t cluster) const {
    auto at = clusterOf.find(op);
    return at != clusterOf.end() && at->second == cluster;
  }
  bool isRead(Value value, size_t reader) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) { return isIn(user, reader); });
  }

  void repeat(Operation *op, size_t own) {
    llvm::SetVector<size_t> readers;
    for (Operation *user : op->getUsers()) {
      auto at = clusterOf.find(user);
      if (at == clusterOf.end())
        return;
      if (at->second != own)
        readers.insert(at->second);
    }
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    int64_t most = limits.repeatedOpsPerByte * elementBytes(element) * int64_t(readers.size() + 1);
    SmallVector<Cone> cones;
    for (size_t reader : readers) {
      Cone cone;
      if (!readsByElement(op, reader) || !addCone(op, op, reader, most, cone))
        return;
      cones.push_back(std::move(cone));
    }
    for (auto [reader, cone] : llvm::zip_equal(readers, cones))
      copy(op, cone, reader);
  }

  /// Whether the cluster needs each element of the op's result once, at the place of its own.
  bool readsByElement(Operation *op, size_t reader) const {
    llvm::SetVector<Operation *> users;
    auto add = [&](Operation *from) {
      for (Operation *user : from->getUsers())
        if (isIn(user, reader))
          users.insert(user);
    };
    add(op);
    for (size_t i = 0; i < users.size(); ++i) {
      if (loopKind(users[i]) != LoopKind::elementwise)
        return false;
      add(users[i]);
    }
    return true;
  }

  /// Adds the ops that compute `op` from what the reader reads except for `value`, operands first.
  /// Subtracts their cost from `left`. False: not possible, or too expensive.
  bool addCone(Operation *op, Operation *value, size_t reader, int64_t &left, Cone &cone) const {
    if (cone.contains(op))
      return true;
    if (!isFree(op) && !isElementwise(op))
      return false;
    left -= isFree(op) ? 0 : opsPerElement(op);
    if (left < 0)
      return false;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (isRead(operand, reader) && producer != value)
        continue;
      if (!producer || !addCone(producer, value, reader, left, cone))
        return false;
    }
    cone.insert(op);
    return true;
  }

  void copy(Operation *op, const Cone &cone, size_t reader) {
    std::vector<Operation *> &ops = clusters[reader].ops, copies;
    auto first = llvm::find_if(
        ops, [&](Operation *o) { return llvm::is_contained(o->getOperands(), op->getResult(0)); });
    OpBuilder builder(*first);
    IRMapping map;
    for (Operation *o : cone)
      copies.push_back(builder.clone(*o, map));
    op->getResult(0).replaceUsesWithIf(
        map.lookup(op->getResult(0)), [&](OpOperand &use) { return isIn(use.getOwner(), reader); });
    for (Operation *o : copies)
      clusterOf[o] = reader;
    ops.insert(first, copies.begin(), copies.end());
  }

  /// Removes ops that nothing reads any more, and clusters without ops.
  void eraseDead() {
    for (Cluster &cluster : clusters) {
      for (Operation *&op : llvm::reverse(cluster.ops))
        if (isOpTriviallyDead(op)) {
          op->erase();
          op = nullptr;
        }
      llvm::erase(cluster.ops, nullptr);
    }
    llvm::erase_if(clusters, [](const Cluster &cluster) { return cluster.ops.empty(); });
  }

  std::vector<Cluster> &clusters;
  const exec::KernelLimits &limits;
  llvm::DenseMap<Operation *, size_t> clusterOf;
};

} // namespace

void gradc::repeatValues(std::vector<Cluster> &clusters, const exec::KernelLimits &limits) {
  if (limits.repeatedOpsPerByte > 0)
    Repeater(clusters, limits).run();
}
