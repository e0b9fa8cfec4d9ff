// gradc plan: kernels, flops, bytes, peak memory and who holds it, before anything runs.
#include "compiler/Plan.h"
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
  fmt::print("  {:>3}  {:>12}  {:>10}  {:>5}  {:40}  {}\n", "", "flops", "bytes", "units", "kernel",
             "nodes");
  for (size_t i = 0; i < entry.launches.size(); ++i) {
    const PlannedLaunch &l = entry.launches[i];
    fmt::print("  {:>3}  {:>12}  {:>10}  {:>5}  {:40}  {}\n", i, l.flops, bytesText(l.bytes),
               l.units, l.kernel, l.node);
  }
  if (entry.alive.empty())
    return;
  fmt::print("  peak {} during launch {}:\n", bytesText(entry.peakBytes), entry.peakLaunch);
  for (const LiveTensor &tensor : entry.alive)
    fmt::print("  {:>10}  {:24}  {}\n", bytesText(tensor.bytes), tensor.type, tensor.node);
}

int plan(const CompileArguments &arguments) {
  Compilation compilation(arguments);
  if (int code = compilation.plan())
    return code;
  for (auto &level : compilation.program().levels) {
    ProgramPlan plan = describePlan(*level);
    fmt::print("{}: {} kernels, states {}\n", plan.level, plan.kernels, bytesText(plan.stateBytes));
    for (const EntryPlan &entry : plan.entries)
      if (entry.name.find(':') == std::string::npos) // pack and unpack are the runtime's
        print(entry);
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
