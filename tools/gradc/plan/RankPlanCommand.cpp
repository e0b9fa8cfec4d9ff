// gradc plan --ranks: what a step costs that several processes share, before they exist.
#include "tools/gradc/plan/RankPlanCommand.h"

#include "tools/gradc/plan/LoneRank.h"
#include "tools/gradc/plan/RankPlan.h"
#include "tools/gradc/plan/StagePlan.h"

#include "runtime/base/ThreadTeam.h"
#include "runtime/core/artifact/Config.h"
#include "runtime/core/artifact/Shards.h"
#include "runtime/train/job/Job.h"

#include <fmt/core.h>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

using nlohmann::json;

namespace gradc {
using namespace runtime;
namespace {

/// `shards`: as of shardsOf.
void print(const BenchResult &measured, uint64_t shards, llvm::ArrayRef<RankForecast> forecasts) {
  std::string from = shards > 1 ? fmt::format("one of {} ranks, without sums", shards)
                                : "one process of one thread";
  fmt::print("{}, batch {}, {}, predicted from {:.2f} ms of {} ({})\n", measured.entry,
             measured.batch, measured.level, measured.median * 1e3, from, measured.data);
  fmt::print("  {:>5}  {:17}  {:>6}  {:>10}  {:>10}  {:>6}  {:>10}  {:>10}  {:>10}  {:>10}\n",
             "ranks", "strategy", "rows", "kernels ms", "sums ms", "hidden", "step ms", "samples/s",
             "sent", "memory");
  for (const RankForecast &f : forecasts)
    fmt::print("  {:>5}  {:17}  {:>6}  {:>10.3f}  {:>10.3f}  {:>5.0f}%  {:>10.3f}  {:>10.0f}  "
               "{:>10}  {:>10}\n",
               f.ranks, f.strategy, f.rows, f.compute * 1e3, f.sums * 1e3, f.hidden() * 100,
               f.step * 1e3, double(measured.batch) / f.step, bytesText(f.sentBytes),
               bytesText(f.memoryBytes));
}

void printJson(const BenchResult &measured, uint64_t shards,
               llvm::ArrayRef<RankForecast> forecasts) {
  json all = json::array();
  for (const RankForecast &f : forecasts)
    all.push_back({{"ranks", f.ranks},
                   {"strategy", f.strategy},
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
                 {shards > 1 ? "one_rank_ms" : "one_process_ms", measured.median * 1e3},
                 {"forecasts", all}};
  printAsJson(result);
}

/// A step of several replicas of a pipeline.
struct ReplicaForecast {
  int64_t ranks, replicas, rows; ///< rows: of the largest share
  double sums, step;             ///< seconds
};

/// Describes the work, memory and transfers of each stage of one replica with a whole batch.
json printStages(const StagePlan &plan, const BenchResult &measured, bool asJson) {
  json stages = json::array();
  if (!asJson) {
    fmt::print(
        "{}, batch {} in {} parts, {}, predicted from {:.2f} ms of one process of one thread "
        "({})\n",
        measured.entry, measured.batch, plan.parts(), measured.level, measured.median * 1e3,
        measured.data);
    fmt::print("  {:>5}  {:>14}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n", "stage", "flops",
               "kernels ms", "sent", "states", "values", "memory");
  }
  for (auto [i, stage] : llvm::enumerate(plan.stages())) {
    double milliseconds = plan.secondsOf(i, measured.median) * 1e3;
    stages.push_back({{"flops", stage.flops},
                      {"kernels_ms", milliseconds},
                      {"sent_bytes", stage.sentBytes},
                      {"state_bytes", stage.stateBytes},
                      {"arena_bytes", stage.arenaBytes}});
    if (!asJson)
      fmt::print("  {:>5}  {:>14}  {:>10.3f}  {:>10}  {:>10}  {:>10}  {:>10}\n", i, stage.flops,
                 milliseconds, bytesText(stage.sentBytes), bytesText(stage.stateBytes),
                 bytesText(stage.arenaBytes), bytesText(stage.memoryBytes()));
  }
  return stages;
}

/// Where ranks divide the model, each replica of it has as many ranks as the artifact is for.
Status expectReplicas(Config spec, llvm::ArrayRef<int64_t> ranks) {
  Config distribution = spec.child("distribution");
  bool isTensor = distribution.string("strategy") == "TENSOR";
  if (!isTensor && !isPipeline(spec))
    return {};
  bool isReplicated = distribution.boolean("data_parallel", false);
  int64_t each = modelRanksOf(spec);
  for (int64_t asked : ranks)
    if (isReplicated ? asked % each : asked != each)
      return Status(Code::usage,
                    fmt::format("expected {}{} ranks, {}, found {}",
                                isReplicated ? "a multiple of " : "", each,
                                isTensor ? "for which the spec's distribution { ranks } shards the "
                                           "parameters"
                                         : "one for each of the stages of the spec's distribution "
                                           "{ stages }",
                                asked));
  return {};
}

void printStageForecasts(const StagePlan &plan, const BenchResult &measured, const json &stages,
                         llvm::ArrayRef<ReplicaForecast> forecasts, bool asJson) {
  json all = json::array();
  for (const ReplicaForecast &f : forecasts) {
    all.push_back({{"ranks", f.ranks},
                   {"replicas", f.replicas},
                   {"rows", f.rows},
                   {"sums_ms", f.sums * 1e3},
                   {"step_ms", f.step * 1e3}});
    if (asJson)
      continue;
    std::string replicas =
        f.replicas == 1 ? ""
                        : fmt::format(", {} replicas of at most {} rows, of it {:.3f} ms sums "
                                      "over replicas",
                                      f.replicas, f.rows, f.sums * 1e3);
    fmt::print(
        "  step {:.3f} ms on {} ranks with a CPU each, {:.0f} samples/s{}; the slowest stage "
        "waits for {:.0f} % of it\n",
        f.step * 1e3, f.ranks, double(measured.batch) / f.step, replicas,
        plan.bubble() * (f.step - f.sums) / f.step * 100);
  }
  json result = {{"entry", measured.entry},
                 {"level", measured.level},
                 {"batch", measured.batch},
                 {"parts", plan.parts()},
                 {"one_process_ms", measured.median * 1e3},
                 {"stages", stages},
                 {"bubble", plan.bubble()},
                 {"forecasts", all}};
  if (asJson)
    printAsJson(result);
}

/// Steps of some rows, each number of rows measured once. If the parameters are in shards, the
/// steps are those of one rank without its exchanges.
class Shares {
public:
  Shares(mlir::MLIRContext &context, std::shared_ptr<Artifact> artifact)
      : context(context), artifact(std::move(artifact)) {}

  /// `rows`: 0 for a whole batch. `copies`: the number of threads that run steps concurrently, each
  /// in its own session, like ranks on one host.
  Result<BenchResult> measured(int64_t rows, int64_t copies) {
    std::optional<Result<BenchResult>> &known = known_[{rows, copies}];
    if (known)
      return *known;
    std::vector<std::optional<Result<BenchResult>>> results(static_cast<size_t>(copies));
    std::vector<std::thread> threads;
    context.enableMultithreading(); // each session creates types in it
    for (auto &result : results)
      threads.emplace_back([&, rows] {
        LoneRank rank{int(shardsOf(*artifact))};
        BenchOptions options;
        options.ranks = &rank;
        options.threads = 1;
        options.rows = rows;
        result = measure(context, [&] { return artifact; }, options);
      });
    for (std::thread &thread : threads)
      thread.join();
    context.disableMultithreading();
    known = std::move(results.front());
    return *known;
  }

private:
  mlir::MLIRContext &context;
  std::shared_ptr<Artifact> artifact;
  std::map<std::pair<int64_t, int64_t>, std::optional<Result<BenchResult>>> known_;
};

/// Replicas sum their gradients when the last part has left the pipeline.
int planStages(const StagePlan &plan, const BenchResult &whole, Shares &shares,
               const RankPlanArguments &arguments, bool asJson) {
  std::optional<RankLink> link = RankLink::parse(arguments.link);
  std::vector<ReplicaForecast> forecasts;
  for (int64_t ranks : arguments.ranks) {
    int64_t replicas = ranks / int64_t(plan.stages().size());
    ReplicaForecast forecast{ranks, replicas, plan.rowsOf(replicas), 0, 0};
    auto share = shares.measured(replicas == 1 ? 0 : forecast.rows, /*copies=*/1);
    if (!share)
      return fail(share.status());
    double bytes = plan.summedBytes(replicas);
    if (replicas > 1)
      forecast.sums = link ? bytes / link->bandwidth + 2 * link->latency
                           : bytes / measureCopies(1, int64_t(bytes));
    forecast.step = plan.stepSeconds(share->median) + forecast.sums;
    forecasts.push_back(forecast);
  }
  json stages = printStages(plan, whole, asJson);
  printStageForecasts(plan, whole, stages, forecasts, asJson);
  return exitCode(Code::ok);
}

/// Why no step has an exchange between ranks.
std::string whyUnshared(Config spec) {
  if (spec.child("distribution").string("strategy") != "TENSOR")
    return "add distribution { } to the training spec";
  return modelRanksOf(spec) == 1 ? "its distribution { ranks: 1 } shards no parameters"
                                 : "gradc check says why no parameters are in shards";
}

} // namespace

void RankPlanArguments::add(CLI::App &command) {
  CLI::Option *counts =
      command.add_option("--ranks", ranks, "predict a step of so many processes: a list")
          ->allow_extra_args(false) // the spec may follow
          ->delimiter(',')
          ->check(CLI::Range(int64_t(1), int64_t(GRADC_MAX_RANKS)));
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
  if (Status fits = expectReplicas(Config::job(**artifact), arguments.ranks); !fits.ok())
    return fail(fits);
  Shares shares(compilation.context(), *artifact);
  auto whole = shares.measured(/*rows=*/0, /*copies=*/1);
  if (!whole)
    return fail(whole.status());
  StagePlan stages(**artifact, whole->level, whole->entry);
  if (!stages.stages().empty())
    return planStages(stages, *whole, shares, arguments, asJson);
  RankPlan plan(**artifact, whole->level, whole->entry);
  if (!plan.isShared())
    return fail(Code::invalid, "ranks share no step of " + compile.file + ": " +
                                   whyUnshared(Config::job(**artifact)));
  for (int64_t ranks : arguments.ranks)
    if (ranks > 1 && ranks <= plan.serversOf(ranks))
      return fail(Code::usage,
                  fmt::format("expected more ranks than the {} that are servers, which "
                              "the spec's distribution {{ servers }} says, found {}",
                              plan.serversOf(ranks), ranks));
  std::optional<RankLink> link = RankLink::parse(arguments.link);
  auto cpus = int64_t(ThreadTeam::availableCpus());
  std::vector<RankForecast> forecasts;
  for (int64_t ranks : arguments.ranks) {
    // "mirrored" and "multi_worker" distinguish hosts.
    if (!link || (ranks <= cpus && !plan.isDivided())) {
      auto share = shares.measured(plan.rowsOf(ranks), std::min(ranks, cpus));
      if (!share)
        return fail(share.status());
      forecasts.push_back(plan.onThisHost(ranks, *share));
    }
    if (link) {
      auto share = shares.measured(plan.rowsOf(ranks), /*copies=*/1);
      if (!share)
        return fail(share.status());
      forecasts.push_back(plan.over(*link, ranks, *share));
    }
  }
  uint64_t shards = shardsOf(**artifact);
  asJson ? printJson(*whole, shards, forecasts) : print(*whole, shards, forecasts);
  return exitCode(Code::ok);
}

} // namespace gradc
