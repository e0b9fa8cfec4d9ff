// Starts ranks or joins them.
#include "runtime/train/RankStart.h"

#include "runtime/base/Text.h"
#include "runtime/core/artifact/Config.h"
#include "runtime/train/job/Job.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace gradc::runtime {

/// Launchers of other MPI libraries leave these variables.
static Status expectOpenMpi() {
  for (const char *name : {"PMI_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_SIZE"})
    if (const char *size = std::getenv(name); size && std::atoi(size) > 1)
      return Status::error(text("started as one of ", size,
                                " processes by an MPI that is not Open MPI (", name,
                                " is set), expected Open MPI's mpirun"));
  return {};
}

static Status expectDistribution(const Artifact &artifact) {
  return Config::job(artifact).child("distribution") ? Status() : needsDistribution();
}

static Status expectOneTraining(const CommandLine &line) {
  for (auto [isAsked, option] : {std::pair(!line.sweep.field.empty(), "--sweep"),
                                 std::pair(!line.options.findRate.empty(), "--find-learning-rate")})
    if (isAsked)
      return Status(Code::usage,
                    text("option '", option, "' goes with one process, found several ranks"));
  return {};
}

/// Checks that the model can be divided among `ranks` ranks. A single process can train a pipeline,
/// but no shards.
static Status expectModel(const Artifact &artifact, int ranks) {
  Config spec = Config::job(artifact);
  int each = modelRanksOf(spec);
  bool isTensor = spec.child("distribution").string("strategy") == "TENSOR";
  bool isReplicated = spec.child("distribution").boolean("data_parallel", false);
  bool fits = isReplicated ? ranks % each == 0 : ranks == each;
  if (fits || !(isTensor || isPipeline(spec)) || (isPipeline(spec) && ranks == 1))
    return {};
  std::string found = text("found ", ranks, ranks == 1 ? " process" : " ranks", ", expected ",
                           isReplicated ? "a multiple of " : "", each);
  return Status(Code::usage,
                isPipeline(spec)
                    ? text(found,
                           ": one for each of the stages of the spec's distribution { stages }",
                           isReplicated ? ", in each replica" : "", ", or a single process")
                    : text(found,
                           ", for which the spec's distribution { ranks } shards the "
                           "parameters: start it with --ranks ",
                           each, isReplicated ? "" : text(", or compile it for ", ranks)));
}

static Status expectWorkers(const Artifact &artifact, int ranks) {
  int servers = serversOf(Config::job(artifact));
  return ranks > servers
             ? Status()
             : Status(Code::usage, text("found ", ranks, " ranks, expected more: ", servers,
                                        " of them are servers, which the spec's distribution { "
                                        "servers } says, and at least one trains"));
}

/// After a loss of ranks, or if the others could not begin again, prints the command that continues
/// from the newest checkpoint. The ranks that are left have printed which ones are lost.
static void sayHowToGoOn(const RankEnd &end, const Artifact &artifact, const CommandLine &line) {
  if (!end.failure.ok())
    std::fprintf(stderr, "error: %s\n", printable(end.failure.message()).c_str());
  if (end.areAllLost)
    std::fprintf(stderr, "error: all ranks have ended unexpectedly\n");
  bool isCutShort = end.lost > 0 || end.areAllLost || !end.failure.ok();
  if (!isCutShort || end.checkpoint.empty())
    return;
  std::fprintf(stderr, "go on from the newest checkpoint with: %s --resume %s\n",
               line.options.trainCommand.c_str(), forShell(end.checkpoint).c_str());
  if (!end.areAllLost && !line.isElastic && modelRanksOf(Config::job(artifact)) == 1)
    std::fprintf(stderr, "with --elastic, the ranks that are left go on from it by themselves\n");
}

Result<std::optional<int>> startRanks(const Artifact &artifact, const std::string &file,
                                      const CommandLine &line, std::span<char *const> arguments) {
  int launched = launchedRanks();
  if (launched && line.ranks > 1 && launched != line.ranks)
    return Status(Code::usage, text("option '--ranks' is ", line.ranks, ", but mpirun has started ",
                                    launched, " processes"));
  if (line.isElastic && (launched ? !isStartedByLauncher() : line.ranks == 1))
    return Status(Code::usage,
                  launched ? "option '--elastic' goes with '--ranks', which starts ranks again; "
                             "mpirun does not"
                           : "option '--elastic' goes with '--ranks', found one process");
  if (line.isElastic && modelRanksOf(Config::job(artifact)) > 1)
    return Status(Code::usage,
                  text("option '--elastic' goes with strategies that any number of ranks can train "
                       "with, found strategy: ",
                       Config::job(artifact).child("distribution").string("strategy")));
  // Ranks that mpirun has started agree on this later, so that one of them reports it.
  if (Status fits = expectModel(artifact, line.ranks); launched < 2 && !fits.ok())
    return fits;
  if (std::max(launched, line.ranks) > 1)
    if (Status one = expectOneTraining(line); !one.ok())
      return one;
  if (launched || line.ranks == 1)
    return std::optional<int>();
  if (Status ready = expectDistribution(artifact); !ready.ok())
    return ready;
  if (Status enough = expectWorkers(artifact, line.ranks); !enough.ok())
    return enough;
  RankProgram program{line.ranks, {arguments.begin(), arguments.end()}, {}, line.isElastic};
  if (!file.empty()) {
    program.arguments.insert(program.arguments.begin() + 1, file); // after `train`
    program.artifact = artifact.bytes();
  }
  auto end = launchRanks(program, *line.options.interrupt);
  if (!end)
    return end.status();
  sayHowToGoOn(*end, artifact, line);
  return std::optional(end->code);
}

/// Says why this rank leaves before it does: mpirun ends all processes once one of those that have
/// left has ended with an error.
static Status leaveAfter(Ranks &ranks, const Status &failure) {
  Status said = sayingRank(ranks, failure);
  if (!said.message().empty()) // otherwise another rank reports it
    std::fprintf(stderr, "error: %s\n", printable(said.message()).c_str());
  (void)ranks.leave(int(failure.code()));
  return Status(failure.code(), "");
}

Result<std::unique_ptr<Ranks>> joinTraining(const Artifact &artifact, CommandLine &line) {
  std::unique_ptr<Ranks> ranks;
  if (launchedRanks() < 2) {
    if (Status known = expectOpenMpi(); !known.ok())
      return known;
    return ranks;
  }
  auto joined = joinRanks();
  if (!joined)
    return joined;
  ranks = std::move(*joined);
  Status isShared = expectDistribution(artifact);
  int servers = serversOf(Config::job(artifact));
  if (isShared.ok())
    isShared = expectModel(artifact, ranks->size());
  if (isShared.ok())
    isShared = expectWorkers(artifact, ranks->size());
  if (Status ready = ranks->agree(isShared, {}); !ready.ok())
    return leaveAfter(*ranks, ready);
  ranks->setServers(servers);
  if (Status grouped = ranks->setModelRanks(modelRanksOf(Config::job(artifact))); !grouped.ok())
    return leaveAfter(*ranks, grouped);
  if (int64_t staleness = Config::job(artifact).child("distribution").integer("staleness", 0))
    ranks->setStaleness(staleness);
  ranks->setStall(Config::job(artifact).child("distribution").real("stall_seconds", 30));
  if (line.options.threads == 0)
    line.options.threads = ranks->cpus();
  line.options.ranks = ranks.get();
  line.options.servers = servers;
  return ranks;
}

} // namespace gradc::runtime
