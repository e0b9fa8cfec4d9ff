// gradc plan: kernels, flops, bytes, peak memory and its owners, before anything runs.
#include "compiler/Plan.h"
#include "compiler/codegen/cuda/Cubin.h"
#include "compiler/codegen/cuda/Ptxas.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Compilation.h"

#include <fmt/core.h>

namespace gradc {
namespace {

void print(const EntryPlan &entry) {
  int64_t flops = 0;
  for (const PlannedLaunch &launch : entry.launches)
    flops += launch.flops;
  fmt::print("\n{}: {} launches, {} flops, arena {}\n", entry.name, entry.launches.size(), flops,
             bytesText(entry.arenaBytes));
  bool isGpu = !entry.launches.empty() && !entry.launches.front().by.empty();
  auto by = [&](const std::string &who) { return isGpu ? fmt::format("  {:9}", who) : ""; };
  fmt::print("  {:>3}  {:>12}  {:>10}  {:>5}{}  {:40}  {}\n", "", "flops", "bytes", "units",
             by("by"), "kernel", "nodes");
  for (size_t i = 0; i < entry.launches.size(); ++i) {
    const PlannedLaunch &l = entry.launches[i];
    fmt::print("  {:>3}  {:>12}  {:>10}  {:>5}{}  {:40}  {}\n", i, l.flops, bytesText(l.bytes),
               l.units, by(l.by), l.kernel, l.node);
  }
  if (entry.alive.empty())
    return;
  fmt::print("  peak {} during launch {}:\n", bytesText(entry.peakBytes), entry.peakLaunch);
  for (const LiveTensor &tensor : entry.alive)
    fmt::print("  {:>10}  {:24}  {}\n", bytesText(tensor.bytes), tensor.type, tensor.node);
}

/// The limits of a level's device, from its maker's data sheet.
struct Roof {
  int64_t sm;
  const char *device;
  double flops, bytes; ///< per second; f32 without tensor cores
};
constexpr Roof roofs[] = {{80, "A100 80 GB", 19.5e12, 2.0e12}, {90, "H200", 67e12, 4.8e12}};

/// ptxas' figures for an entry's kernels, and the minimum time on their device.
void printGpu(const EntryPlan &entry, mlir::ModuleOp module,
              const llvm::StringMap<cuda::KernelCode> &codes, const Roof &roof) {
  fmt::print("  on the GPU, floors of {}:\n", roof.device);
  fmt::print("  {:>3}  {:>6}  {:>7}  {:>9}  {:>5}  {:>6}  {:>9}  {:>8}  {}\n", "", "blocks",
             "threads", "registers", "stack", "shared", "occupancy", "floor us", "kernel");
  double total = 0;
  for (size_t i = 0; i < entry.launches.size(); ++i) {
    const PlannedLaunch &l = entry.launches[i];
    auto kernel = module.lookupSymbol<mlir::exec::KernelOp>(l.kernel);
    int64_t threads = kernel.getThreads();
    cuda::KernelCode code = codes.lookup(kernelSymbol(kernel));
    double floor = std::max(double(l.flops) / roof.flops, double(l.bytes) / roof.bytes) * 1e6;
    total += floor;
    fmt::print("  {:>3}  {:>6}  {:>7}  {:>9}  {:>5}  {:>6}  {:>8.0f}%  {:>8.2f}  {}\n", i, l.units,
               threads, code.registers, code.frameBytes, code.sharedBytes,
               100 * cuda::occupancy(code, threads), floor, l.kernel);
  }
  fmt::print("  {} launches, floor {:.2f} us\n", entry.launches.size(), total);
}

/// The machine code of a CUDA level; empty if there is no ptxas to make it.
llvm::StringMap<cuda::KernelCode> gpuCode(mlir::ModuleOp level) {
  CodegenOptions options;
  options.emit = EmitKind::object;
  auto name = level->getAttrOfType<mlir::StringAttr>("exec.level").getValue();
  if (cuda::findTool("ptxas").empty()) {
    fmt::print("registers, shared memory and occupancy are not known: there is no ptxas\n");
    return {};
  }
  auto cubin = generateImage(level, *mlir::exec::findLevel(name), options);
  if (failed(cubin))
    return {};
  auto codes = cuda::readCubin(*cubin);
  if (codes)
    return std::move(*codes);
  fail(Code::error, "cannot read what ptxas wrote: " + llvm::toString(codes.takeError()));
  return {};
}

int plan(const CompileArguments &arguments) {
  Compilation compilation(arguments);
  if (int code = compilation.plan())
    return code;
  for (auto &level : compilation.program().levels) {
    ProgramPlan plan = describePlan(*level);
    fmt::print("{}: {} kernels, states {}\n", plan.level, plan.kernels, bytesText(plan.stateBytes));
    int64_t sm = mlir::exec::findLevel(plan.level)->sm;
    auto roof = llvm::find_if(roofs, [&](const Roof &r) { return r.sm == sm; });
    auto codes = sm ? gpuCode(*level) : llvm::StringMap<cuda::KernelCode>();
    for (const EntryPlan &entry : plan.entries)
      if (entry.name.find(':') ==
          std::string::npos) { // pack and unpack are internal to the runtime
        print(entry);
        if (!codes.empty() && roof != std::end(roofs))
          printGpu(entry, *level, codes, *roof);
      }
  }
  return exitCode(Code::ok);
}

} // namespace

void addPlan(CLI::App &app, Runner &run) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App *command = app.add_subcommand("plan", "kernels, work, and peak memory");
  arguments->add(*command);
  command->callback([=, &run] { run = [=] { return plan(*arguments); }; });
}

} // namespace gradc
