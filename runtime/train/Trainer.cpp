// Brings artifact, options and checkpoint together, and runs the loop.
#include "runtime/train/Trainer.h"

#include "runtime/base/Text.h"
#include "runtime/train/Loop.h"
#include "runtime/train/RunFolder.h"

#include <cstdio>
#include <sys/stat.h>

namespace gradc::runtime {

/// The checkpoint meant by `resume`: a file, or the newest one of a folder or of the job's newest
/// run. `isNamed`: the options name the job's folder.
static Result<Checkpoint> findCheckpoint(const std::string &resume, const Job &job, bool isNamed) {
  struct stat status;
  std::string folder;
  if (resume == "latest")
    folder = isNamed ? job.checkpointFolder : newestRun(job.checkpointFolder);
  else if (stat(resume.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
    folder = resume;
  else
    return Checkpoint::open(resume);
  if (folder.empty())
    return Status(Code::usage, "nothing to resume from: the spec has no checkpoint folder, name "
                               "one with --checkpoint");
  auto latest = CheckpointFolder(folder).latest();
  if (!latest)
    return latest.status();
  auto checkpoint = Checkpoint::open(*latest);
  auto steps = CheckpointFolder(folder).steps();
  if (!checkpoint.ok() && steps.size() > 1)
    return Status::error(text(checkpoint.status().message(), "; the one before it is '",
                              CheckpointFolder(folder).file(steps[steps.size() - 2]), '\''));
  return checkpoint;
}

/// Uses the level that the checkpoint was trained on, so that a resume gives the same bits. If this
/// machine lacks it, uses another and says so.
static Result<std::unique_ptr<Session>> makeSession(std::shared_ptr<const Artifact> artifact,
                                                    const TrainOptions &options,
                                                    const Checkpoint *resume) {
  SessionOptions wanted{options.threads, options.level};
  if (resume && wanted.level.empty())
    wanted.level = resume->level();
  auto session = Session::create(artifact, wanted);
  if (!session && resume && options.level.empty()) {
    wanted.level.clear();
    session = Session::create(artifact, wanted);
  }
  if (session && resume) {
    std::string_view level = artifact->string((*session)->level().name);
    if (level != resume->level())
      std::fprintf(stderr,
                   "warning: the checkpoint was trained on level %s, this run is on %.*s: results "
                   "may differ in their last bits\n",
                   resume->level().c_str(), int(level.size()), level.data());
  }
  return session;
}

Result<TrainSummary> train(std::shared_ptr<const Artifact> artifact, const TrainOptions &options) {
  auto job = Job::read(*artifact, options);
  if (!job)
    return job.status();
  std::optional<Checkpoint> resume;
  if (!options.resume.empty()) {
    // Before the newest is looked for: a training under way would add newer ones.
    CheckpointFolder running(options.checkpoint.empty() ? newestRun(job->checkpointFolder)
                                                        : job->checkpointFolder);
    if (running.exists())
      if (Status locked = running.lock(); !locked.ok())
        return locked;
    auto found = findCheckpoint(options.resume, *job, !options.checkpoint.empty());
    if (!found)
      return found.status();
    resume = std::move(*found);
    if (options.seed && uint64_t(*options.seed) != resume->position().seed)
      return Status(Code::usage,
                    text("cannot resume with seed ", *options.seed,
                         ": the checkpoint was trained with seed ", resume->position().seed));
  }
  if (Status chosen = job->chooseRun(options, resume ? resume->file() : ""); !chosen.ok())
    return chosen;
  CheckpointFolder checkpoints(job->checkpointFolder);
  const Checkpoint *checkpoint = resume ? &*resume : nullptr;
  auto session = makeSession(std::move(artifact), options, checkpoint);
  if (!session)
    return session.status();
  auto loop = Loop::make(**session, *job, options, checkpoint, std::move(checkpoints));
  if (!loop)
    return loop.status();
  return (*loop)->run();
}

} // namespace gradc::runtime
