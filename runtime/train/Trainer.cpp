// Combines artifact, options, and checkpoint, and runs the loop.
#include "runtime/train/Trainer.h"

#include "runtime/base/KeptUntilExit.h"
#include "runtime/base/Text.h"
#include "runtime/train/checkpoint/RunFolder.h"
#include "runtime/train/loop/Loop.h"

#include <cstdio>
#include <sys/stat.h>

namespace gradc::runtime {

/// The checkpoint that `resume` refers to: a file, or the newest one in a folder, or that of the
/// best evaluation if there is no other. `run`: the folder that "latest" stands for.
static Result<Checkpoint> findCheckpoint(const std::string &resume, const std::string &run) {
  struct stat status;
  std::string folder;
  if (resume == "latest")
    folder = run;
  else if (stat(resume.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
    folder = resume;
  else
    return Checkpoint::open(resume);
  if (folder.empty())
    return Status(Code::usage, "nothing to resume from: the spec has no checkpoint folder, name "
                               "one with --checkpoint");
  // A training that was killed before its first checkpoint may have left its best states.
  if (!CheckpointFolder(folder).holdsAny())
    return CheckpointFolder(folder).latest().status();
  auto checkpoint = Checkpoint::open(CheckpointFolder(folder).latestOrBest());
  if (checkpoint.ok())
    return checkpoint;
  auto steps = CheckpointFolder(folder).steps();
  for (size_t i = steps.size(); i-- > 1;) { // without the newest, which does not open
    std::string before = CheckpointFolder(folder).file(steps[i - 1]);
    if (Checkpoint::open(before).ok())
      return Status::error(text(checkpoint.status().message(),
                                "; the newest one that can be read is '", before, '\''));
  }
  return checkpoint;
}

/// Uses the level of the checkpoint's training, so that a resume gives the same bits. If this
/// machine lacks it, uses another level and says so.
static Result<std::unique_ptr<Session>> makeSession(std::shared_ptr<const Artifact> artifact,
                                                    const TrainOptions &options,
                                                    const Checkpoint *resume) {
  SessionOptions wanted{options.threads, options.level, options.ranks};
  if (resume && wanted.level.empty())
    wanted.level = resume->level();
  auto session = Session::create(artifact, wanted);
  if (!session && resume && options.level.empty()) {
    wanted.level.clear();
    session = Session::create(artifact, wanted);
  }
  if (session && resume && isFirst(options)) {
    std::string_view level = artifact->string((*session)->level().name);
    if (level != resume->level())
      std::fprintf(stderr,
                   "warning: the checkpoint was trained on level %s, this run is on %.*s: results "
                   "may differ in their last bits\n",
                   resume->level().c_str(), int(level.size()), level.data());
  }
  return session;
}

namespace {
/// The job of a run, and the checkpoint that it resumes from.
struct Beginning {
  Job job;
  std::optional<Checkpoint> resume;
};
} // namespace

/// Finds the checkpoint to resume from. With several ranks, the first one does.
static Status findResume(const Artifact &artifact, Beginning &beginning,
                         const TrainOptions &options) {
  Job &job = beginning.job;
  NewestRun newest{job.checkpointFolder, ""};
  if (options.checkpoint.empty())
    newest = newestRun(job.checkpointFolder, artifact);
  if (options.resume == "latest")
    job.passedOver = std::move(newest.passedOver);
  // A running training would add newer checkpoints.
  if (Status idle = CheckpointFolder(newest.folder).expectIdle(); !idle.ok())
    return idle;
  auto found = findCheckpoint(options.resume, newest.folder);
  if (!found)
    return found.status();
  if (auto states = found->match(artifact, /*withSlots=*/true); !states)
    return states.status();
  beginning.resume = std::move(*found);
  uint64_t seed = beginning.resume->position().seed;
  if (options.seed && uint64_t(*options.seed) != seed)
    return Status(Code::usage, text("cannot resume with seed ", *options.seed,
                                    ": the checkpoint was trained with seed ", seed));
  return {};
}

static Status begin(const Artifact &artifact, const TrainOptions &options, Beginning &beginning) {
  auto job = Job::read(artifact, options);
  if (!job)
    return job.status();
  beginning.job = std::move(*job);
  if (!isFirst(options))
    return {};
  if (!options.resume.empty())
    if (Status found = findResume(artifact, beginning, options); !found.ok())
      return found;
  return beginning.job.chooseRun(options, beginning.resume ? beginning.resume->file() : "");
}

/// Makes all ranks resume from the first one's checkpoint.
static Status shareResume(Communicator &ranks, Beginning &beginning) {
  auto files = ranks.share(beginning.resume ? beginning.resume->file() : "");
  if (!files)
    return files.status();
  if (files->front().empty() || beginning.resume)
    return {};
  auto opened = Checkpoint::open(files->front());
  if (opened)
    beginning.resume = std::move(*opened);
  return opened.status();
}

/// Ranks that cannot continue report it where the others wait for them.
static Status agreed(const TrainOptions &options, const Status &mine,
                     std::span<const Communicator::Fact> facts = {}) {
  return options.ranks ? options.ranks->agree(mine, facts) : mine;
}

static Result<TrainSummary> trainOn(Result<std::unique_ptr<Session>> &session,
                                    const Beginning &beginning, const TrainOptions &options) {
  const Checkpoint *checkpoint = beginning.resume ? &*beginning.resume : nullptr;
  Result<std::unique_ptr<Loop>> loop = session.status();
  if (session)
    loop = Loop::make(**session, beginning.job, options, checkpoint,
                      CheckpointFolder(beginning.job.checkpointFolder));
  std::vector<Communicator::Fact> facts;
  if (loop && options.ranks)
    facts = (*loop)->commonFacts();
  if (Status made = agreed(options, loop.status(), facts); !made.ok())
    return made;
  return (*loop)->run();
}

Result<TrainSummary> train(std::shared_ptr<const Artifact> artifact, const TrainOptions &options) {
  Beginning beginning;
  if (Status begun = agreed(options, begin(*artifact, options, beginning)); !begun.ok())
    return begun;
  Status shared = options.ranks ? shareResume(*options.ranks, beginning) : Status();
  if (shared = agreed(options, shared); !shared.ok())
    return shared;

  auto session =
      makeSession(std::move(artifact), options, beginning.resume ? &*beginning.resume : nullptr);
  auto summary = trainOn(session, beginning, options);
  // Exchanges that this rank gave up may still read its memory, and write to it.
  if (session && !summary && options.ranks)
    keepUntilExit(std::move(*session));
  return summary;
}

} // namespace gradc::runtime
