// Reads the figures from a planned module.
#include "compiler/Plan.h"

using namespace mlir;

namespace gradc {
namespace {

std::string nodeOf(exec::DispatchOp op) {
  auto nodes = op->getAttrOfType<ArrayAttr>("nodes");
  return nodes ? exec::nodesText(nodes) : "";
}

/// The library or code that computes a kernel, if libraries are present.
std::string computedBy(exec::KernelOp kernel) {
  if (kernel.getThreads() == 0)
    return "";
  exec::LibraryAttr library = kernel.getLibraryAttr();
  if (!library)
    return "generated";
  return library.getRole() == exec::LibraryRole::matmul ? "cublasLt" : "cudnn";
}

/// Intervals of the arena in launch order: written at `first`, last read at `last`.
struct Life {
  exec::SliceAttr slice;
  std::string node;
  int64_t bytes;
  size_t first, last;
};

void findPeak(exec::EntryOp entry, MutableArrayRef<exec::DispatchOp> dispatches, EntryPlan &plan) {
  std::vector<Life> lives;
  llvm::DenseMap<int64_t, size_t> current; // arena offset -> the interval that occupies it now
  for (auto [time, dispatch] : llvm::enumerate(dispatches)) {
    for (auto slice : dispatch.getReads().getAsRange<exec::SliceAttr>())
      if (slice.getSpace() == exec::Space::arena)
        lives[current[slice.getOffset()]].last = time;
    for (auto slice : dispatch.getWrites().getAsRange<exec::SliceAttr>())
      if (slice.getSpace() == exec::Space::arena) {
        current[slice.getOffset()] = lives.size();
        lives.push_back(
            {slice, nodeOf(dispatch), exec::layoutBytes(slice.getType(), nullptr), time, time});
      }
  }
  for (auto output : entry.getOutputs().getAsRange<DictionaryAttr>())
    if (auto slice = output.getAs<exec::SliceAttr>("slice"))
      if (slice.getSpace() == exec::Space::arena && current.contains(slice.getOffset()))
        lives[current[slice.getOffset()]].last = dispatches.size();
  for (size_t time = 0; time < dispatches.size(); ++time) {
    int64_t bytes = 0;
    for (const Life &life : lives)
      if (life.first <= time && time <= life.last)
        bytes += life.bytes;
    if (bytes > plan.peakBytes) {
      plan.peakBytes = bytes;
      plan.peakLaunch = time;
    }
  }
  for (const Life &life : lives)
    if (life.first <= plan.peakLaunch && plan.peakLaunch <= life.last) {
      std::string type;
      llvm::raw_string_ostream(type) << life.slice.getType();
      plan.alive.push_back({life.node, type, life.bytes});
    }
  llvm::stable_sort(plan.alive,
                    [](const LiveTensor &a, const LiveTensor &b) { return a.bytes > b.bytes; });
}

} // namespace

ProgramPlan describePlan(ModuleOp level) {
  ProgramPlan plan;
  plan.level = level->getAttrOfType<StringAttr>("exec.level").getValue().str();
  for (auto buffer : level.getOps<exec::BufferOp>())
    plan.stateBytes += buffer.getBytes();
  for (auto kernel : level.getOps<exec::KernelOp>())
    ++plan.kernels, (void)kernel;
  for (auto entry : level.getOps<exec::EntryOp>()) {
    EntryPlan e;
    e.name = entry.getSymName().str();
    e.arenaBytes = entry.getArena();
    auto dispatches = llvm::to_vector(entry.getBody().front().getOps<exec::DispatchOp>());
    for (exec::DispatchOp dispatch : dispatches) {
      auto kernel = level.lookupSymbol<exec::KernelOp>(dispatch.getKernel());
      e.launches.push_back(
          {dispatch.getKernel().str(), nodeOf(dispatch), int64_t(kernel.getFlops().value_or(0)),
           int64_t(kernel.getBytes().value_or(0)), exec::kernelUnits(kernel), computedBy(kernel)});
    }
    findPeak(entry, dispatches, e);
    plan.entries.push_back(std::move(e));
  }
  return plan;
}

} // namespace gradc
