// gradc plan --ranks: what a step costs that several processes share, before they exist.
#include "tools/gradc/RankPlanCommand.h"

#include "tools/gradc/RankPlan.h"

#include "runtime/base/ThreadTeam.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

using nlohmann::json;

namespace gradc {
using namespace runtime;
namespace {

constexpr int64_t mostRanks = 4096;

void print(const BenchResult &measured, llvm::ArrayRef<RankForecast> forecasts) {
  fmt::print("{}, batch {}, {}, predicted from {:.2f} ms of one process of one thread ({})\n",
             measured.entry, measured.batch, measured.level, measured.median * 1e3, measured.data);
  fmt::print("  {:>5}  {:12}  {:>6}  {:>10}  {:>10}  {:>6}  {:>10}  {:>10}  {:>10}  {:>10}\n",
             "ranks", "strategy", "rows", "kernels ms", "sums ms", "hidden", "step ms", "samples/s",
             "sent", "memory");
  for (const RankForecast &f : forecasts)
    fmt::print("  {:>5}  {:12}  {:>6}  {:>10.3f}  {:>10.3f}  {:>5.0f}%  {:>10.3f}  {:>10.0f}  "
               "{:>10}  {:>10}\n",
               f.ranks, f.strategy.str(), f.rows, f.compute * 1e3, f.sums * 1e3, f.hidden() * 100,
               f.step * 1e3, double(measured.batch) / f.step, bytesText(f.sentBytes),
               bytesText(f.memoryBytes));
}

void printJson(const BenchResult &measured, llvm::ArrayRef<RankForecast> forecasts) {
  json all = json::array();
  for (const RankForecast &f : forecasts)
    all.push_back({{"ranks", f.ranks},
                   {"strategy", f.strategy.str()},
                   {"rows", f.rows},
                   {"kernels_ms", f.compute * 1e3},
                   {"sums_ms", f.sums * 1e3},
                   {"hidden", f.hidden()},
                   {"step_ms", f.step * 1e3},
                   {"sent_bytes", f.sentBytes},
                   {"memory_bytes", f.memoryBytes}});
  json result = {{"entry", measured.entry},
                 {"level", measured.level},
                 {"batch", measured.batch},
                 {"one_process_ms", measured.median * 1e3},
                 {"forecasts", all}};
  fmt::print("{}\n", result.dump(2));
}

} // namespace

void RankPlanArguments::add(CLI::App &command) {
  CLI::Option *counts =
      command.add_option("--ranks", ranks, "predict a step of so many processes: a list")
          ->delimiter(',')
          ->check(CLI::Range(int64_t(1), mostRanks));
  command
      .add_option("--link", link,
                  "bandwidth and latency between hosts of one rank each: 12GB/s,5us; without it, "
                  "ranks on this host")
      ->check([](const std::string &text) {
        return RankLink::parse(text) ? std::string()
                                     : "expected a bandwidth and a latency, such as 12GB/s,5us, "
                                       "found " +
                                           text;
      })
      ->needs(counts);
}

int planRanks(const CompileArguments &compile, const RankPlanArguments &arguments, bool asJson) {
  Compilation compilation(compile);
  if (int code = compilation.compile(folderOf(compile.file)))
    return code;
  auto artifact = Artifact::fromMemory(std::as_bytes(std::span(compilation.artifact())));
  if (!artifact)
    return fail(artifact.status());
  BenchOptions options;
  options.threads = 1;
  auto measured = measure(compilation.context(), [&] { return *artifact; }, options);
  if (!measured)
    return fail(measured.status());
  RankPlan plan(**artifact, *measured);
  if (!plan.isShared())
    return fail(Code::invalid, "ranks share no step of " + compile.file +
                                   ": add distribution { } to the training spec");
  std::optional<RankLink> link = RankLink::parse(arguments.link);
  std::vector<RankForecast> forecasts;
  for (int64_t ranks : arguments.ranks) {
    if (!link || ranks <= int64_t(ThreadTeam::availableCpus()))
      forecasts.push_back(plan.onThisHost(ranks));
    if (link)
      forecasts.push_back(plan.over(*link, ranks));
  }
  asJson ? printJson(*measured, forecasts) : print(*measured, forecasts);
  return exitCode(Code::ok);
}

} // namespace gradc
