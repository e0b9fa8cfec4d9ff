// Collects the figures of a planned module.
#include "compiler/Plan.h"

#include "compiler/artifact/Kinds.h"
#include "dialects/exec/Exec.h"
#include "dialects/grad/HostTensor.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/memory/Lifetimes.h"

using namespace mlir;

namespace gradc {
namespace {

/// The library or code that computes a kernel if libraries are present.
std::string computedBy(exec::KernelOp kernel) {
  if (kernel.getThreads() == 0)
    return "";
  exec::LibraryAttr library = kernel.getLibraryAttr();
  if (!library)
    return "generated";
  return library.getRole() == exec::LibraryRole::matmul ? "cublasLt" : "cudnn";
}

/// A tensor in the arena.
struct ArenaTensor {
  int64_t begin, end; ///< bytes, in all iterations
  RankedTensorType type;
  SmallVector<std::pair<int64_t, Operation *>, 2> writers; ///< each with its time

  /// The node that last wrote the tensor before that time.
  Operation *writerAt(int64_t time) const {
    auto isLater = [&](const auto &writer) { return writer.first > time; };
    auto *later = llvm::find_if(writers, isLater);
    return (later == writers.begin() ? later : later - 1)->second;
  }
};

/// Finds the tensors of an entry's arena, their lifetimes, and the peak.
class ArenaPlan {
public:
  ArenaPlan(exec::EntryOp entry, SymbolTableCollection &tables) : entry(entry), tables(tables) {}

  void find(EntryPlan &plan) {
    follow(entry.getBody());
    for (auto output : entry.getOutputs().getAsRange<DictionaryAttr>())
      if (auto slice = output.getAs<exec::SliceAttr>("slice"))
        if (slice.getSpace() == exec::Space::arena)
          read({slice, nullptr, false}, {});
    std::vector<Lifetime> lives = lifetimes.find();
    for (int64_t time = 0; time < lifetimes.now(); ++time)
      if (int64_t bytes = bytesAt(lives, time); bytes > plan.peakBytes) {
        plan.peakBytes = bytes;
        plan.peakNode = time;
      }
    for (auto [tensor, life] : llvm::zip(tensors, lives)) {
      std::string type;
      llvm::raw_string_ostream(type) << tensor.type;
      plan.tensors.push_back({exec::nodesText(tensor.writerAt(plan.peakNode)), type,
                              grad::bytesOf(tensor.type), tensor.begin, tensor.end, life.first,
                              life.last});
    }
  }

private:
  void follow(Region &region) {
    if (region.empty())
      return;
    for (Operation &node : region.front()) {
      SmallVector<exec::LoopOp> loops = exec::loopsAround(&node);
      SmallVector<exec::Access> accesses = exec::accessesOf(&node, tables);
      llvm::erase_if(accesses, [](const exec::Access &access) {
        return access.slice.getSpace() != exec::Space::arena;
      });
      for (const exec::Access &access : accesses)
        access.isWrite ? write(access, loops, &node) : read(access, loops);
      lifetimes.advance();
      for (Region &body : node.getRegions()) {
        lifetimes.enter(isa<exec::LoopOp>(node));
        follow(body);
        // A loop reads its condition again after each iteration, as its last node ends.
        if (auto loop = dyn_cast<exec::LoopOp>(node))
          if (auto condition = loop.getConditionAttr();
              condition && condition.getSpace() == exec::Space::arena) {
            lifetimes.retreat();
            read({condition, nullptr, false}, loops);
            lifetimes.advance();
          }
        lifetimes.leave();
      }
    }
  }

  static bool moves(const exec::Access &access) {
    return llvm::any_of(access.slice.getStrides(), [](int64_t stride) { return stride != 0; });
  }

  void read(const exec::Access &access, ArrayRef<exec::LoopOp> loops) {
    auto [begin, end] = access.getReach(loops);
    for (auto [i, tensor] : llvm::enumerate(tensors))
      if (current.contains(i) && tensor.begin < end && begin < tensor.end)
        lifetimes.touch(i, /*isWrite=*/false, moves(access));
  }

  /// A write replaces the previous content, unless it goes to moving memory or the same node reads
  /// that memory: then it modifies the same tensor.
  void write(const exec::Access &access, ArrayRef<exec::LoopOp> loops, Operation *node) {
    auto [begin, end] = access.getReach(loops);
    for (auto [i, tensor] : llvm::enumerate(tensors)) {
      if (!current.contains(i) || tensor.begin >= end || begin >= tensor.end)
        continue;
      if (tensor.begin == begin && tensor.end == end &&
          (moves(access) || readsSame(access, node))) {
        lifetimes.touch(i, /*isWrite=*/true, moves(access));
        tensor.writers.push_back({lifetimes.now(), node});
        tensor.type = access.slice.getType();
        return;
      }
      current.erase(i);
    }
    current.insert(tensors.size());
    lifetimes.touch(tensors.size(), /*isWrite=*/true, moves(access));
    tensors.push_back({begin, end, access.slice.getType(), {{lifetimes.now(), node}}});
  }

  bool readsSame(const exec::Access &write, Operation *node) {
    return llvm::any_of(exec::accessesOf(node, tables), [&](const exec::Access &access) {
      return !access.isWrite && access.slice.getSpace() == exec::Space::arena &&
             access.slice.getOffset() == write.slice.getOffset();
    });
  }

  /// The number of bytes that tensors occupy.
  int64_t bytesAt(ArrayRef<Lifetime> lives, int64_t time) {
    SmallVector<std::pair<int64_t, int64_t>> taken;
    for (auto [tensor, life] : llvm::zip(tensors, lives))
      if (life.covers(time))
        taken.push_back({tensor.begin, tensor.end});
    llvm::sort(taken);
    int64_t bytes = 0, last = 0;
    for (auto [begin, end] : taken) {
      bytes += std::max<int64_t>(0, end - std::max(begin, last));
      last = std::max(last, end);
    }
    return bytes;
  }

  exec::EntryOp entry;
  SymbolTableCollection &tables;
  Lifetimes lifetimes; ///< of the tensors
  std::vector<ArenaTensor> tensors;
  llvm::DenseSet<size_t> current; ///< tensors that nothing has been written over so far
};

/// The number of bytes that one rank contributes to a sum.
int64_t payloadBytes(exec::CollectiveOp collective) {
  int64_t bytes = 0;
  for (auto slice : collective.getSlices().getAsRange<exec::SliceAttr>())
    bytes += grad::bytesOf(slice.getType());
  return collective.getBf16() ? bytes / 2 : bytes;
}

PlannedNode describeNode(Operation *op, exec::EntryOp entry, SymbolTableCollection &tables) {
  PlannedNode node;
  node.node = exec::nodesText(op);
  for (Operation *body = op->getParentOp(); body != entry; body = body->getParentOp())
    ++node.depth;
  if (auto dispatch = dyn_cast<exec::DispatchOp>(op)) {
    auto kernel = tables.lookupNearestSymbolFrom<exec::KernelOp>(op, dispatch.getKernelAttr());
    node.what = dispatch.getKernel();
    node.isKernel = true;
    node.flops = int64_t(kernel.getFlops().value_or(0));
    node.bytes = int64_t(kernel.getBytes().value_or(0));
    node.units = exec::kernelUnits(kernel);
    node.by = computedBy(kernel);
  } else if (auto copy = dyn_cast<exec::CopyOp>(op)) {
    node.what = "copy";
    node.bytes = 2 * grad::bytesOf(copy.getFrom().getType());
  } else if (auto collective = dyn_cast<exec::CollectiveOp>(op)) {
    node.what = gradc_collective_title(collectiveKind(collective));
    node.bytes = payloadBytes(collective);
  } else if (auto transfer = dyn_cast<exec::TransferOp>(op)) {
    node.what = (transfer.getSend() ? "send to rank " : "receive from rank ") +
                std::to_string(transfer.getPeer());
    node.bytes = grad::bytesOf(transfer.getSlice().getType());
  } else if (auto loop = dyn_cast<exec::LoopOp>(op)) {
    bool mayEndEarly = loop.getCountAttr() || loop.getConditionAttr();
    node.what = (mayEndEarly ? "loop of at most " : "loop of ") + std::to_string(loop.getTrips());
  } else {
    node.what = "if";
  }
  return node;
}

/// Describes the nodes of a body; returns their flops, or the largest number: loops in loops that
/// only a condition ends may have any number of iterations.
int64_t describeBody(Region &region, EntryPlan &plan, exec::EntryOp entry,
                     SymbolTableCollection &tables) {
  uint64_t flops = 0;
  if (region.empty())
    return 0;
  for (Operation &op : region.front()) {
    size_t number = plan.nodes.size();
    plan.nodes.push_back(describeNode(&op, entry, tables));
    plan.launches += isa<exec::DispatchOp, exec::CopyOp>(op);
    if (auto collective = dyn_cast<exec::CollectiveOp>(op)) {
      bool isGather = collective.getKind() == exec::CollectiveKind::gather;
      ++(isGather ? plan.gathers : plan.collectives);
      (isGather ? plan.gathered : plan.summed) += plan.nodes.back().bytes;
    }
    if (auto transfer = dyn_cast<exec::TransferOp>(op); transfer && transfer.getSend())
      plan.sent += plan.nodes.back().bytes;
    flops = llvm::SaturatingAdd(flops, uint64_t(plan.nodes.back().flops));
    if (auto branch = dyn_cast<exec::IfOp>(op)) {
      int64_t body = describeBody(branch.getBody(), plan, entry, tables);
      if (!branch.getOtherwise().empty() && !branch.getOtherwise().front().empty())
        plan.nodes[number].otherwise = int64_t(plan.nodes.size());
      body = std::max(body, describeBody(branch.getOtherwise(), plan, entry, tables));
      flops = llvm::SaturatingAdd(flops, uint64_t(body));
    } else if (auto loop = dyn_cast<exec::LoopOp>(op)) {
      int64_t body = describeBody(loop.getBody(), plan, entry, tables);
      flops = llvm::SaturatingMultiplyAdd<uint64_t>(loop.getTrips(), uint64_t(body), flops);
    }
  }
  return int64_t(std::min<uint64_t>(flops, std::numeric_limits<int64_t>::max()));
}

} // namespace

/// Of an if, the body that takes longer.
static double secondsOf(ArrayRef<PlannedNode> nodes, size_t begin, size_t end) {
  double sum = 0;
  while (begin < end) {
    const PlannedNode &node = nodes[begin];
    size_t next = begin + 1;
    while (next < end && nodes[next].depth > node.depth)
      ++next;
    sum += node.time ? node.time->seconds : 0;
    size_t otherwise = node.otherwise >= 0 ? size_t(node.otherwise) : next;
    sum += std::max(secondsOf(nodes, begin + 1, otherwise), secondsOf(nodes, otherwise, next));
    begin = next;
  }
  return sum;
}

double EntryPlan::seconds() const { return secondsOf(nodes, 0, nodes.size()); }

std::vector<PlannedTensor> EntryPlan::atPeak() const {
  std::vector<PlannedTensor> alive;
  for (const PlannedTensor &tensor : tensors)
    if (tensor.first <= peakNode && peakNode <= tensor.last)
      alive.push_back(tensor);
  llvm::stable_sort(
      alive, [](const PlannedTensor &a, const PlannedTensor &b) { return a.bytes > b.bytes; });
  return alive;
}

ProgramPlan describePlan(ModuleOp level, const Machine *machine) {
  SymbolTableCollection tables;
  ProgramPlan plan;
  plan.level = levelNameOf(level).str();
  for (auto buffer : level.getOps<exec::BufferOp>()) {
    plan.stateBytes += buffer.getBytes();
    plan.dividedBytes += buffer.getCutAttr() ? buffer.getBytes() : 0;
    if (auto shard = tables.lookupNearestSymbolFrom<grad::StateOp>(buffer, buffer.getStateAttr())
                         .getShard()) {
      plan.shardedBytes += buffer.getBytes();
      plan.shards = (*shard)[2];
    }
  }
  for (auto kernel : level.getOps<exec::KernelOp>())
    ++plan.kernels, (void)kernel;
  for (auto entry : level.getOps<exec::EntryOp>()) {
    EntryPlan e;
    e.name = entry.getSymName().str();
    if (auto eachRow = entry.getEachRow())
      e.eachRow = eachRow->str();
    e.arenaBytes = entry.getArena();
    e.flops = describeBody(entry.getBody(), e, entry, tables);
    ArenaPlan(entry, tables).find(e);
    if (machine) {
      e.threads = machine->threads;
      for (auto [node, time] : llvm::zip_equal(e.nodes, forecast(entry, *machine)))
        if (time.seconds > 0)
          node.time = time;
    }
    plan.entries.push_back(std::move(e));
  }
  return plan;
}

} // namespace gradc
