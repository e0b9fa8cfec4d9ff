// Merges independent launches of a GPU into one.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/entry/Extents.h"
#include "passes/entry/Functions.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/entry/NodeOrder.h"
#include "passes/kernel/Clusters.h"
#include "passes/kernel/CostModel.h"
#include "passes/kernel/KernelTable.h"
#include "passes/schedule/CutSums.h"

using namespace mlir;
using namespace mlir::grad;
using exec::LaunchOp;

namespace gradc {
#define GEN_PASS_DEF_GROUPLAUNCHES
#include "passes/Passes.h.inc"

namespace {

bool isPointwise(exec::KernelOp kernel) {
  return llvm::all_of(kernel.getBlock(), [](Operation &op) {
    LoopKind kind = loopKind(&op);
    return kind != LoopKind::reduction && kind != LoopKind::contraction;
  });
}

bool isConvolution(exec::KernelOp kernel) {
  return llvm::any_of(kernel.getBlock().getOps<grad::ContractionOpInterface>(),
                      [](auto op) { return bool(op.getLetters().window); });
}

/// Launches to merge, and the resources of the merged launch.
struct Group {
  SmallVector<LaunchOp> members;
  size_t pointers = 0;
  llvm::SmallPtrSet<Value, 16> kept; ///< tensors that only the group keeps alive
  int64_t keptBytes = 0;
};

/// Forms the groups of one function.
class Grouper {
public:
  Grouper(func::FuncOp function, const exec::Level &level, SymbolTable &symbols)
      : block(function.getBody().front()), level(level), symbols(symbols) {}

  std::vector<Group> run() {
    NodesBefore before = nodesBefore(block);
    auto order = orderNodes(before);
    if (!order)
      return {}; // memory planning will report it
    for (Operation *node : llvm::reverse(*order)) {
      int64_t height = heights[node];
      for (Operation *earlier : before[node])
        heights[earlier] = std::max(heights.lookup(earlier), height + 1);
    }
    findLastReaders();
    llvm::DenseMap<int64_t, bool> isMixed; // by height: some candidates are not pointwise
    std::vector<LaunchOp> joining;
    for (Operation *node : *order)
      if (auto launch = dyn_cast<LaunchOp>(node); launch && mayJoin(kernelOf(launch))) {
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

  bool isSmall(exec::KernelOp kernel) const { return CostModel(level).isSmall(kernel); }

  /// Every part of a kernel gets as many registers as the most demanding part. So long-running
  /// kernels that wait for memory are only merged with their like, and convolutions, whose windows
  /// need many registers, not at all.
  bool mayJoin(exec::KernelOp kernel) const {
    return kernel.getBlocksAttr() && !kernel.getLibraryAttr() &&
           kernel.getScheduleAttr().getBlock().empty() && !isConvolution(kernel) &&
           (isPointwise(kernel) || isSmall(kernel));
  }

  void findLastReaders() {
    for (Operation &node :
         llvm::make_filter_range(block, [](Operation &op) { return isNode(&op); }))
      for (Value v : node.getOperands()) {
        auto [at, isNew] = lastReader.try_emplace(storageRoot(v), heights.lookup(&node));
        at->second = std::min(at->second, heights.lookup(&node));
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
    with.pointers += launch.getNumOperands() + launch.getNumResults();
    for (Value v : launch.getOperands()) {
      Value root = storageRoot(v);
      if (isKept(root, heights.lookup(launch)) && with.kept.insert(root).second)
        with.keptBytes += bytesOf(root);
    }
    // A group keeps tensors alive that separate launches would have freed earlier. Besides its
    // pointers, a kernel has the rows of the run as a parameter.
    bool fits = with.pointers < size_t(level.gpu->parameterBytes) / sizeof(void *) &&
                with.keptBytes <= level.gpu->maxGroupedBytes;
    if (fits || group.members.empty())
      group = std::move(with);
    return fits;
  }

  Block &block;
  const exec::Level &level;
  SymbolTable &symbols;
  /// Length of the longest path of dependent nodes from a node. Nodes of equal height are
  /// independent. Since height decreases along every path, grouping by height creates no cycles.
  llvm::DenseMap<Operation *, int64_t> heights;
  llvm::DenseMap<Value, int64_t> lastReader; // height of the last reader
  std::map<std::pair<int64_t, bool>, std::vector<Group>> groups;
};

/// Replaces groups by launches of merged kernels.
class Merger {
public:
  Merger(ModuleOp module, SymbolTable &symbols) : symbols(symbols), kernels(module, symbols) {}

  void merge(Group group) {
    OpBuilder builder(group.members.back());
    sortByKernel(group.members);
    llvm::SetVector<Attribute> nodes;
    SmallVector<Location> locations;
    SmallVector<Value> operands, results;
    for (LaunchOp member : group.members) {
      nodes.insert_range(member->getAttrOfType<ArrayAttr>("exec.nodes"));
      locations.push_back(member.getLoc());
      llvm::append_range(operands, member.getOperands());
      llvm::append_range(results, member.getResults());
    }
    auto launch =
        LaunchOp::create(builder, builder.getFusedLoc(locations), TypeRange(ValueRange(results)),
                         kernels.findOrInsert(make(group.members)).getSymName(), operands);
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

  /// Sorts launches of the same kernel next to each other, so that their parts share its code.
  static void sortByKernel(MutableArrayRef<LaunchOp> members) {
    llvm::DenseMap<Attribute, size_t> numbers;
    for (LaunchOp member : members)
      numbers.try_emplace(member.getKernelAttr(), numbers.size());
    llvm::sort(members, [&](LaunchOp a, LaunchOp b) {
      size_t left = numbers.lookup(a.getKernelAttr()), right = numbers.lookup(b.getKernelAttr());
      return left != right ? left < right : a->isBeforeInBlock(b);
    });
  }

  /// The members' operands that may be overwritten, numbered consecutively: those with one reader.
  SmallVector<int64_t> findInplace(ArrayRef<LaunchOp> members) {
    llvm::DenseMap<Value, int64_t> readers;
    for (LaunchOp member : members)
      for (Value v : member.getOperands())
        ++readers[v];
    SmallVector<int64_t> inplace;
    int64_t first = 0;
    for (LaunchOp member : members) {
      for (int64_t i : kernelOf(member).getInplace().value_or(ArrayRef<int64_t>()))
        if (readers.lookup(member.getOperand(unsigned(i))) == 1)
          inplace.push_back(first + i);
      first += member.getNumOperands();
    }
    return inplace;
  }

  /// A kernel outside the module with the computations of all members.
  exec::KernelOp make(ArrayRef<LaunchOp> members) {
    SmallVector<Type> operands;
    int64_t threads = 0;
    for (LaunchOp member : members) {
      llvm::append_range(operands, member.getOperandTypes());
      threads = std::max(threads, kernelOf(member).getThreads());
    }
    LaunchOp front = members.front();
    std::string name =
        kernelOf(front).getSymName().str() + "_and_" + std::to_string(members.size() - 1) + "_more";
    exec::KernelOp kernel = exec::createKernel(symbols.getOp()->getContext(), name, operands);
    OpBuilder builder = OpBuilder::atBlockEnd(&kernel.getBlock());
    SmallVector<Value> results;
    SmallVector<Attribute> parts;
    SmallVector<Extents> extents;
    int64_t flops = 0, bytes = 0, first = 0;
    for (LaunchOp member : members) {
      exec::KernelOp from = kernelOf(member);
      append(builder, from, first, results);
      for (unsigned i = 0; i < member.getNumOperands(); ++i)
        extents.push_back(from.getExtentsOf(i));
      exec::BlocksAttr blocks = from.getBlocksAttr();
      blocks = exec::BlocksAttr::get(builder.getContext(), threads, blocks.getTeam(),
                                     blocks.getAdjacent(), blocks.getRows());
      parts.push_back(exec::PartAttr::get(builder.getContext(), member.getNumOperands(),
                                          member.getNumResults(), from.getScheduleAttr(), blocks));
      flops += from.getFlops().value_or(0);
      bytes += from.getBytes().value_or(0);
      first += member.getNumOperands();
    }
    exec::YieldOp::create(builder, kernel.getLoc(), results);
    kernel.setPartsAttr(builder.getArrayAttr(parts));
    kernel.setInplace(findInplace(members));
    kernel.setFlops(flops);
    kernel.setBytes(bytes);
    LogicalResult set = setExtents(kernel, extents);
    assert(succeeded(set) && "every member has extents of its own");
    (void)set;
    return kernel;
  }

  /// Appends a kernel's ops; its operands are those from `first` on.
  static void append(OpBuilder &builder, exec::KernelOp from, int64_t first,
                     SmallVectorImpl<Value> &results) {
    Block &block = *builder.getInsertionBlock();
    IRMapping mapping;
    for (BlockArgument argument : from.getBlock().getArguments())
      mapping.map(argument, block.getArgument(unsigned(first) + argument.getArgNumber()));
    for (Operation &op : from.getBlock().without_terminator())
      builder.clone(op, mapping);
    for (Value v : from.getYielded())
      results.push_back(mapping.lookup(v));
  }

  SymbolTable &symbols;
  KernelTable kernels;
};

/// Sorts ops topologically. Among the ready ops, the first in block order comes next, so that
/// lifetimes stay as short as they were.
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
    Merger merger(module, symbols);
    llvm::SetVector<exec::KernelOp> merged;
    for (auto function : functionsOf(module)) {
      for (Group &group : Grouper(function, *level, symbols).run()) {
        for (LaunchOp member : group.members)
          merged.insert(symbols.lookup<exec::KernelOp>(member.getKernel()));
        merger.merge(std::move(group));
      }
      sortOps(function.getBody().front()); // users of the first members may precede the last one
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
