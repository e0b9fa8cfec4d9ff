// gradc plan: kernels, flops, bytes, peak memory and who holds it, before anything runs.
#include "compiler/Plan.h"
#include "tools/gradc/Command.h"

#include <fmt/core.h>

namespace gradc {
namespace {

std::string bytes(int64_t n) {
  if (n >= 10 << 20)
    return fmt::format("{:.1f} MiB", n / 1048576.0);
  return n >= 10 << 10 ? fmt::format("{:.1f} KiB", n / 1024.0) : fmt::format("{} B", n);
}

void print(const EntryPlan &entry) {
  int64_t flops = 0;
  for (const PlannedLaunch &launch : entry.launches)
    flops += launch.flops;
  fmt::print("\n{}: {} launches, {} flops, arena {}\n", entry.name, entry.launches.size(), flops,
             bytes(entry.arenaBytes));
  fmt::print("  {:>3}  {:>12}  {:>10}  {:>5}  {:40}  {}\n", "", "flops", "bytes", "units", "kernel",
             "nodes");
  for (size_t i = 0; i < entry.launches.size(); ++i) {
    const PlannedLaunch &l = entry.launches[i];
    fmt::print("  {:>3}  {:>12}  {:>10}  {:>5}  {:40}  {}\n", i, l.flops, bytes(l.bytes), l.units,
               l.kernel, l.node);
  }
  if (entry.alive.empty())
    return;
  fmt::print("  peak {} during launch {}:\n", bytes(entry.peakBytes), entry.peakLaunch);
  for (const LiveTensor &tensor : entry.alive)
    fmt::print("  {:>10}  {:24}  {}\n", bytes(tensor.bytes), tensor.type, tensor.node);
}

} // namespace

void addPlan(CLI::App &app, Runner &run) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App *command = app.add_subcommand("plan", "kernels, work, and peak memory");
  arguments->add(*command);
  command->callback([=, &run] {
    run = [=] {
      if (int code = arguments->finish())
        return code;
      auto context = createContext();
      Console console(*context);
      auto imported = importFile(*context, arguments->file, arguments->options);
      if (failed(imported))
        return exitCode(Code::invalid);
      auto program = planProgram(std::move(*imported), arguments->options);
      if (failed(program))
        return exitCode(Code::invalid);
      for (auto &level : program->levels) {
        ProgramPlan plan = describePlan(*level);
        fmt::print("{}: {} kernels, states {}\n", plan.level, plan.kernels, bytes(plan.stateBytes));
        for (const EntryPlan &entry : plan.entries)
          if (entry.name.find(':') == std::string::npos) // pack and unpack are the runtime's
            print(entry);
      }
      return exitCode(Code::ok);
    };
  });
}

} // namespace gradc
