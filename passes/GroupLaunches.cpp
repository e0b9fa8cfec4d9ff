// Launches of a GPU that do not wait for each other become one.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "passes/Clusters.h"
#include "passes/CutSums.h"
#include "passes/LaunchOrder.h"
#include "passes/ModuleLevel.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace mlir::grad;
using exec::LaunchOp;

namespace gradc {
#define GEN_PASS_DEF_GROUPLAUNCHES
#include "passes/Passes.h.inc"

namespace {

/// Parameters that every driver takes: 4 KB.
constexpr size_t mostPointers = 512;
/// Bytes that a group may keep in the arena which its launches, each at its time, would have freed.
constexpr int64_t mostKeptBytes = 64 << 20;

bool isPointwise(exec::KernelOp kernel) {
  return llvm::all_of(kernel.getBlock(), [](Operation &op) {
    LoopKind kind = loopKind(&op);
    return kind != LoopKind::reduction && kind != LoopKind::contraction;
  });
}

/// Whether a kernel runs no longer than its launch takes. Not measured: f32 on an H200 (67 TFLOP/s,
/// of which generated code has a quarter; 4.8 TB/s), 2 us a launch in a graph.
bool isSmall(exec::KernelOp kernel) {
  constexpr double flops = 67e12 / 4, bandwidth = 4.8e12, launch = 2e-6;
  return double(kernel.getFlops().value_or(0)) < launch * flops &&
         double(kernel.getBytes().value_or(0)) < launch * bandwidth;
}

/// All of a kernel's parts have as many registers as the neediest: one that runs long, and waits
/// for memory, may only be beside its like.
bool mayJoin(exec::KernelOp kernel) {
  return kernel.getBlocksAttr() && !kernel.getLibraryAttr() &&
         kernel.getScheduleAttr().getBlock().empty() && (isPointwise(kernel) || isSmall(kernel));
}

/// Launches that become one, and what that takes.
struct Group {
  SmallVector<LaunchOp> members;
  llvm::SmallPtrSet<Value, 16> operands;
  size_t results = 0;
  llvm::SmallPtrSet<Value, 16> kept; ///< by the group alone
  int64_t keptBytes = 0;
};

/// Forms the groups of one function.
class Grouper {
public:
  Grouper(func::FuncOp function, SymbolTable &symbols)
      : block(function.getBody().front()), symbols(symbols) {}

  std::vector<Group> run() {
    LaunchesBefore before = launchesBefore(block);
    auto order = orderLaunches(before);
    if (!order)
      return {}; // for the memory plan to report
    for (LaunchOp launch : llvm::reverse(*order)) {
      int64_t height = heights[launch];
      for (LaunchOp earlier : before[launch])
        heights[earlier] = std::max(heights.lookup(earlier), height + 1);
    }
    findLastReaders();
    llvm::DenseMap<int64_t, bool> isMixed; // not all that may join at a height are pointwise
    std::vector<LaunchOp> joining;
    for (LaunchOp launch : *order)
      if (mayJoin(kernelOf(launch))) {
        joining.push_back(launch);
        isMixed[heights[launch]] |= !isPointwise(kernelOf(launch));
      }
    for (LaunchOp launch : joining) {
      int64_t height = heights[launch];
      join(launch, groups[{height, isMixed[height] && !isSmall(kernelOf(launch))}]);
    }
    std::vector<Group> found;
    for (auto &[key, some] : groups)
      for (Group &group : some)
        if (group.members.size() > 1)
          found.push_back(std::move(group));
    return found;
  }

private:
  exec::KernelOp kernelOf(LaunchOp launch) {
    return symbols.lookup<exec::KernelOp>(launch.getKernel());
  }

  void findLastReaders() {
    for (auto launch : block.getOps<LaunchOp>())
      for (Value v : launch.getOperands()) {
        auto [at, isNew] = lastReader.try_emplace(storageRoot(v), heights.lookup(launch));
        at->second = std::min(at->second, heights.lookup(launch));
      }
    for (Value v : block.getTerminator()->getOperands())
      lastReader[storageRoot(v)] = -1;
  }

  /// Whether the group would be the last to read a tensor of the arena.
  bool isKept(Value root, int64_t height) const {
    return root.getDefiningOp<LaunchOp>() && !storedBuffer(root) &&
           lastReader.lookup(root) == height;
  }

  void join(LaunchOp launch, std::vector<Group> &some) {
    if (some.empty() || !add(launch, some.back()))
      (void)add(launch, some.emplace_back());
  }

  bool add(LaunchOp launch, Group &group) const {
    Group with = group;
    with.members.push_back(launch);
    with.results += launch.getNumResults();
    for (Value v : launch.getOperands()) {
      with.operands.insert(v);
      Value root = storageRoot(v);
      if (isKept(root, heights.lookup(launch)) && with.kept.insert(root).second)
        with.keptBytes +=
            exec::layoutBytes(cast<RankedTensorType>(root.getType()), /*layout=*/nullptr);
    }
    bool fits =
        with.operands.size() + with.results <= mostPointers && with.keptBytes <= mostKeptBytes;
    if (fits || group.members.empty())
      group = std::move(with);
    return fits;
  }

  Block &block;
  SymbolTable &symbols;
  /// Launches on the longest way to one that nobody waits for: those of one height do not wait for
  /// each other, and as a way only leads down, groups of one height close no circle.
  llvm::DenseMap<Operation *, int64_t> heights;
  llvm::DenseMap<Value, int64_t> lastReader; // its height
  std::map<std::pair<int64_t, bool>, std::vector<Group>> groups;
};

/// Replaces groups by launches of kernels that it makes.
class Merger {
public:
  explicit Merger(SymbolTable &symbols) : symbols(symbols) {}

  void merge(const Group &group) {
    numberOperands(group);
    LaunchOp last = group.members.back();
    OpBuilder builder(last);
    llvm::SetVector<Attribute> nodes;
    SmallVector<Location> locations;
    SmallVector<Value> results;
    for (LaunchOp member : group.members) {
      nodes.insert_range(member->getAttrOfType<ArrayAttr>("exec.nodes"));
      locations.push_back(member.getLoc());
      llvm::append_range(results, member.getResults());
    }
    auto launch =
        LaunchOp::create(builder, builder.getFusedLoc(locations), TypeRange(ValueRange(results)),
                         findOrMake(group).getSymName(), operands.getArrayRef());
    launch->setAttr("exec.nodes", builder.getArrayAttr(nodes.getArrayRef()));
    for (auto [from, to] : llvm::zip(results, launch.getResults()))
      from.replaceAllUsesWith(to);
    for (LaunchOp member : group.members)
      member.erase();
  }

private:
  exec::KernelOp kernelOf(LaunchOp launch) {
    return symbols.lookup<exec::KernelOp>(launch.getKernel());
  }

  /// The group's operands: those of each member alone, member by member, then those of several.
  void numberOperands(const Group &group) {
    llvm::MapVector<Value, LaunchOp> only; // null: of several
    for (LaunchOp member : group.members)
      for (Value v : member.getOperands()) {
        auto [at, isNew] = only.try_emplace(v, member);
        if (at->second != member)
          at->second = nullptr;
      }
    operands.clear();
    owned.clear();
    for (LaunchOp member : group.members) {
      size_t before = operands.size();
      for (Value v : member.getOperands())
        if (only[v] == member)
          operands.insert(v);
      owned.push_back(operands.size() - before);
    }
    for (auto &[v, member] : only)
      if (!member)
        operands.insert(v);
  }

  int64_t numberOf(Value operand) const { return llvm::find(operands, operand) - operands.begin(); }

  /// The last, smaller batch's step does what the others' does: it finds that kernel.
  exec::KernelOp findOrMake(const Group &group) {
    SmallVector<Attribute> key;
    Builder builder(symbols.getOp()->getContext());
    for (LaunchOp member : group.members) {
      auto numbers =
          llvm::map_to_vector(member.getOperands(), [&](Value v) { return numberOf(v); });
      key.append({member.getKernelAttr(), builder.getDenseI64ArrayAttr(numbers)});
    }
    exec::KernelOp &kernel = made[builder.getArrayAttr(key)];
    if (!kernel)
      kernel = make(group);
    return kernel;
  }

  exec::KernelOp make(const Group &group) {
    std::string name = kernelOf(group.members.front()).getSymName().str() + "_and_" +
                       std::to_string(group.members.size() - 1) + "_more";
    exec::KernelOp kernel = exec::createKernel(symbols.getOp()->getContext(), name,
                                               TypeRange(ValueRange(operands.getArrayRef())));
    int64_t threads = 0;
    for (LaunchOp member : group.members)
      threads = std::max(threads, kernelOf(member).getThreads());
    OpBuilder builder = OpBuilder::atBlockEnd(&kernel.getBlock());
    SmallVector<Value> results;
    SmallVector<Attribute> parts;
    SmallVector<int64_t> inplace;
    int64_t flops = 0, bytes = 0, first = 0;
    for (auto [number, own] : llvm::enumerate(owned)) {
      LaunchOp member = group.members[number];
      exec::KernelOp from = kernelOf(member);
      append(builder, from, member, results);
      for (int64_t i = first; i < first + own; ++i)
        if (isInplace(from, member, operands[i]))
          inplace.push_back(i);
      exec::BlocksAttr blocks = from.getBlocksAttr();
      blocks = exec::BlocksAttr::get(builder.getContext(), threads, blocks.getTeam(),
                                     blocks.getAdjacent(), blocks.getRows());
      parts.push_back(exec::PartAttr::get(builder.getContext(), own, member.getNumResults(),
                                          from.getScheduleAttr(), blocks));
      flops += from.getFlops().value_or(0);
      bytes += from.getBytes().value_or(0);
      first += own;
    }
    exec::YieldOp::create(builder, kernel.getLoc(), results);
    kernel.setPartsAttr(builder.getArrayAttr(parts));
    kernel.setInplace(inplace);
    kernel.setFlops(flops);
    kernel.setBytes(bytes);
    symbols.insert(kernel);
    return kernel;
  }

  /// A kernel's ops behind those that are there.
  void append(OpBuilder &builder, exec::KernelOp from, LaunchOp member,
              SmallVectorImpl<Value> &results) {
    Block &block = *builder.getInsertionBlock();
    IRMapping mapping;
    for (auto [argument, operand] : llvm::zip(from.getBlock().getArguments(), member.getOperands()))
      mapping.map(argument, block.getArgument(numberOf(operand)));
    for (Operation &op : from.getBlock().without_terminator())
      builder.clone(op, mapping);
    for (Value v : from.getYielded())
      results.push_back(mapping.lookup(v));
  }

  /// Whether a launch reads a value by operands only that may be written over.
  static bool isInplace(exec::KernelOp kernel, LaunchOp launch, Value v) {
    ArrayRef<int64_t> inplace = kernel.getInplace().value_or(ArrayRef<int64_t>());
    return llvm::all_of(launch->getOpOperands(), [&](OpOperand &operand) {
      return operand.get() != v || llvm::is_contained(inplace, int64_t(operand.getOperandNumber()));
    });
  }

  SymbolTable &symbols;
  llvm::DenseMap<Attribute, exec::KernelOp> made;
  llvm::SetVector<Value> operands; ///< of the group that is being merged
  SmallVector<int64_t> owned;      ///< how many of them each member has for itself
};

/// Puts ops behind those whose results they need: the first that may come next, in the order that
/// the block has, so that lives stay as short as they were.
void sortOps(Block &block) {
  llvm::DenseMap<Operation *, size_t> position, missing;
  std::set<size_t> ready;
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator()) {
    position[&op] = ops.size();
    ops.push_back(&op);
  }
  for (Operation *op : ops)
    for (Value v : op->getOperands())
      missing[op] += v.getDefiningOp() != nullptr;
  for (Operation *op : ops)
    if (missing.lookup(op) == 0)
      ready.insert(position[op]);
  while (!ready.empty()) {
    Operation *op = ops[*ready.begin()];
    ready.erase(ready.begin());
    op->moveBefore(block.getTerminator());
    for (OpOperand &use : op->getUses())
      if (position.contains(use.getOwner()) && --missing[use.getOwner()] == 0)
        ready.insert(position[use.getOwner()]);
  }
}

struct GroupLaunches : impl::GroupLaunchesBase<GroupLaunches> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    const exec::Level *level = namedLevel(module);
    if (!level || !level->isCuda())
      return;
    SymbolTable symbols(module);
    cutSums(module, *level, symbols);
    Merger merger(symbols);
    llvm::SetVector<exec::KernelOp> merged;
    for (auto function : module.getOps<func::FuncOp>()) {
      for (const Group &group : Grouper(function, symbols).run()) {
        for (LaunchOp member : group.members)
          merged.insert(symbols.lookup<exec::KernelOp>(LaunchOp(member).getKernel()));
        merger.merge(group);
      }
      sortOps(function.getBody().front()); // users of the first members stood before the last
    }
    module.walk([&](LaunchOp launch) {
      merged.remove(symbols.lookup<exec::KernelOp>(launch.getKernel()));
    });
    for (exec::KernelOp kernel : merged)
      symbols.erase(kernel);
  }
};

} // namespace
} // namespace gradc
