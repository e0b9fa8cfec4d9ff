// gradc plan: kernels, flops, bytes, peak memory and its owners, before anything runs.
#include "compiler/Plan.h"
#include "compiler/codegen/cuda/Cubin.h"
#include "compiler/codegen/cuda/Ptxas.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/kernel/CostModel.h"
#include "runtime/base/ThreadTeam.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Compilation.h"
#include "tools/gradc/doctor/MeasureLevel.h"
#include "tools/gradc/plan/RankPlanCommand.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <set>

using nlohmann::json;

namespace gradc {
namespace {

/// Nodes of a body are indented.
std::string nodeText(const PlannedNode &node) {
  return std::string(2 * node.depth, ' ') + node.what;
}

void print(const EntryPlan &entry) {
  if (!entry.eachRow.empty()) {
    fmt::print("\n{}: runs {} for each row\n", entry.name, entry.eachRow);
    return;
  }
  std::string sums;
  if (entry.collectives)
    sums =
        fmt::format(", {} sums over ranks, {} of each", entry.collectives, bytesText(entry.summed));
  if (entry.gathers)
    sums += fmt::format(", {} gathers, {} of each", entry.gathers, bytesText(entry.gathered));
  if (entry.sent)
    sums += fmt::format(", sends {}", bytesText(entry.sent));
  fmt::print("\n{}: {} launches, {} flops, arena {}{}\n", entry.name, entry.launches, entry.flops,
             bytesText(entry.arenaBytes), sums);
  if (entry.isTimed())
    fmt::print("  predicted: {} on {} thread{}\n", timeText(entry.seconds()), entry.threads,
               entry.threads > 1 ? "s" : "");
  bool isGpu = llvm::any_of(entry.nodes, [](const PlannedNode &n) { return !n.by.empty(); });
  auto by = [&](const std::string &who) { return isGpu ? fmt::format("  {:9}", who) : ""; };
  bool isTimed = entry.isTimed();
  auto time = [&](const PlannedNode *n) {
    std::string text = !n ? "time" : n->time ? timeText(n->time->seconds) : "";
    return isTimed ? fmt::format("  {:>8}  {:6}", text, n && n->time ? n->time->bound() : "") : "";
  };
  fmt::print("  {:>3}  {:>12}  {:>10}  {:>5}{}{}  {:40}  {}\n", "", "flops", "bytes", "units",
             time(nullptr), by("by"), "kernel", "nodes");
  std::set<int64_t> elses; // the first nodes of else bodies
  for (auto [i, n] : llvm::enumerate(entry.nodes)) {
    if (elses.count(int64_t(i)))
      fmt::print("  {:>3}  {:>12}  {:>10}  {:>5}{}{}  {}else\n", "", "", "", "", time(&n), by(""),
                 std::string(2 * (n.depth - 1), ' '));
    if (n.otherwise >= 0)
      elses.insert(n.otherwise);
    fmt::print("  {:>3}  {:>12}  {:>10}  {:>5}{}{}  {:40}  {}\n", i,
               n.isKernel ? std::to_string(n.flops) : "", n.bytes ? bytesText(n.bytes) : "",
               n.isKernel ? std::to_string(n.units) : "", time(&n), by(n.by), nodeText(n), n.node);
  }
  std::vector<PlannedTensor> alive = entry.atPeak();
  if (alive.empty())
    return;
  fmt::print("  peak {} during launch {}:\n", bytesText(entry.peakBytes), entry.peakNode);
  for (const PlannedTensor &tensor : alive)
    fmt::print("  {:>10}  {:24}  {}\n", bytesText(tensor.bytes), tensor.type, tensor.node);
}

/// Prints ptxas's figures for an entry's kernels, and their minimum time on the device.
void printGpu(const EntryPlan &entry, mlir::ModuleOp module,
              const llvm::StringMap<cuda::KernelCode> &codes, const mlir::exec::Level &level) {
  fmt::print("  on the GPU, floors of {}:\n", level.gpu->device.str());
  fmt::print("  {:>3}  {:>6}  {:>7}  {:>9}  {:>5}  {:>6}  {:>9}  {:>8}  {}\n", "", "blocks",
             "threads", "registers", "stack", "shared", "occupancy", "floor us", "kernel");
  double total = 0;
  for (auto [i, l] : llvm::enumerate(entry.nodes)) {
    if (!l.isKernel)
      continue;
    auto kernel = module.lookupSymbol<mlir::exec::KernelOp>(l.what);
    int64_t threads = kernel.getThreads();
    cuda::KernelCode code = codes.lookup(kernelSymbol(kernel));
    double floor = CostModel(level).floor(l.flops, l.bytes) * 1e6;
    total += floor;
    fmt::print("  {:>3}  {:>6}  {:>7}  {:>9}  {:>5}  {:>6}  {:>8.0f}%  {:>8.2f}  {}\n", i, l.units,
               threads, code.registers, code.frameBytes, code.sharedBytes,
               100 * cuda::occupancy(code, threads, *level.gpu), floor, l.what);
  }
  fmt::print("  {} launches, floor {:.2f} us\n", entry.launches, total);
}

/// The machine code of a CUDA level; empty if ptxas is not installed.
llvm::StringMap<cuda::KernelCode> gpuCode(mlir::ModuleOp module, const mlir::exec::Level &level) {
  CodegenOptions options;
  options.emit = EmitKind::object;
  if (cuda::findTool("ptxas").empty()) {
    fmt::print("registers, shared memory and occupancy are not known: there is no ptxas\n");
    return {};
  }
  auto cubin = generateImage(module, level, options);
  if (failed(cubin))
    return {};
  auto codes = cuda::readCubin(*cubin);
  if (codes)
    return std::move(*codes);
  fail(Code::error, "cannot read what ptxas wrote: " + llvm::toString(codes.takeError()));
  return {};
}

struct PlanOptions {
  bool json = false, time = false;
  int threads = 0; ///< of the forecast; 0: one per CPU
};

/// With `--time`, measures this machine for its own levels.
ProgramPlan describe(mlir::ModuleOp module, const PlanOptions &options) {
  const mlir::exec::Level &level = *namedLevel(module);
  if (!options.time || !runsHere(level))
    return describePlan(module);
  int threads = options.threads ? options.threads : int(runtime::ThreadTeam::availableCpus());
  Machine machine = measureMachine(level, threads);
  return describePlan(module, &machine);
}

/// Pack and unpack are internal to the runtime.
bool isShown(const EntryPlan &entry) { return entry.name.find(':') == std::string::npos; }

json toJson(const EntryPlan &entry) {
  json result = {{"entry", entry.name},
                 {"launches", entry.launches},
                 {"flops", entry.flops},
                 {"arena", entry.arenaBytes},
                 {"peak", {{"bytes", entry.peakBytes}, {"node", entry.peakNode}}},
                 {"nodes", json::array()},
                 {"tensors", json::array()}};
  if (!entry.eachRow.empty())
    result["each_row"] = entry.eachRow;
  for (const PlannedNode &node : entry.nodes) {
    result["nodes"].push_back({{"kernel", node.what},
                               {"nodes", node.node},
                               {"depth", node.depth},
                               {"flops", node.flops},
                               {"bytes", node.bytes}});
    if (node.time)
      result["nodes"].back().update({{"seconds", node.time->seconds},
                                     {"threads", node.time->threads},
                                     {"bound", node.time->bound()}});
  }
  for (const PlannedTensor &tensor : entry.tensors)
    result["tensors"].push_back({{"nodes", tensor.node},
                                 {"type", tensor.type},
                                 {"bytes", tensor.bytes},
                                 {"begin", tensor.begin},
                                 {"end", tensor.end},
                                 {"first", tensor.first},
                                 {"last", tensor.last}});
  return result;
}

int printJson(Compilation &compilation, const PlanOptions &options) {
  json levels = json::array();
  for (auto &module : compilation.program().levels) {
    ProgramPlan plan = describe(*module, options);
    levels.push_back({{"level", plan.level},
                      {"kernels", plan.kernels},
                      {"states", plan.stateBytes},
                      {"divided", plan.dividedBytes},
                      {"entries", json::array()}});
    for (const EntryPlan &entry : plan.entries)
      if (isShown(entry))
        levels.back()["entries"].push_back(toJson(entry));
  }
  printAsJson(json{{"levels", levels}});
  return exitCode(Code::ok);
}

int plan(const CompileArguments &arguments, const PlanOptions &options) {
  Compilation compilation(arguments);
  if (int code = compilation.plan())
    return code;
  auto isTimed = [](const auto &module) { return runsHere(*namedLevel(*module)); };
  if (options.time && llvm::none_of(compilation.program().levels, isTimed))
    return fail(Code::usage, "--time predicts for this machine's CPU, and --target names only "
                             "others: expected --target=cpu");
  if (options.json)
    return printJson(compilation, options);
  for (auto &module : compilation.program().levels) {
    ProgramPlan plan = describe(*module, options);
    fmt::print("{}: {} kernels, states {}{}{}\n", plan.level, plan.kernels,
               bytesText(plan.stateBytes),
               plan.dividedBytes ? ", of which ranks divide " + bytesText(plan.dividedBytes) : "",
               plan.shardedBytes ? fmt::format(", of which {} are shards of each of {} ranks",
                                               bytesText(plan.shardedBytes), plan.shards)
                                 : "");
    const mlir::exec::Level &level = *mlir::exec::findLevel(plan.level);
    auto codes = level.isCuda() ? gpuCode(*module, level) : llvm::StringMap<cuda::KernelCode>();
    for (const EntryPlan &entry : plan.entries)
      if (isShown(entry)) {
        print(entry);
        if (!codes.empty())
          printGpu(entry, *module, codes, level);
      }
  }
  return exitCode(Code::ok);
}

} // namespace

void addPlan(CLI::App &app, Runner &run) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App *command = app.add_subcommand("plan", "kernels, work, and peak memory");
  auto options = std::make_shared<PlanOptions>();
  arguments->add(*command);
  command->add_flag("--json", options->json, "print JSON, with the place and life of each tensor");
  CLI::Option *time = command->add_flag(
      "--time", options->time,
      "measure this machine for a second, and predict how long each kernel takes on its CPU");
  command->add_option("--threads", options->threads, "of the prediction (default: one per CPU)")
      ->needs(time)
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  auto ranks = std::make_shared<RankPlanArguments>();
  ranks->add(*command);
  command->callback([=, &run] {
    run = [=] {
      if (options->time && !ranks->ranks.empty())
        return fail(Code::usage, "--time predicts a step of one process, and --ranks of several");
      return ranks->ranks.empty() ? plan(*arguments, *options)
                                  : planRanks(*arguments, *ranks, options->json);
    };
  });
}

} // namespace gradc
