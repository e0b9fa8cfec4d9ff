// The beginning of a run: data, checkpoint, outputs, and whatever else may fail before the first
// step.
#include "runtime/train/loop/Loop.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Text.h"
#include "runtime/include/gradc/artifact.h"
#include "runtime/train/export/Export.h"
#include "runtime/train/spec/JobFiles.h"

#include <algorithm>
#include <sys/stat.h>

namespace gradc::runtime {

/// Whether the export would replace a file that this job has not written: all its exports have one
/// size.
static bool replacesOther(const Job &job, const Artifact &artifact) {
  struct stat there;
  return !job.exportsTwoFiles && stat(job.exportPath.c_str(), &there) == 0 &&
         uint64_t(there.st_size) != artifact.header().model.count;
}

Result<std::unique_ptr<Loop>> Loop::make(Session &session, const Job &job,
                                         const TrainOptions &options, const Checkpoint *resume,
                                         CheckpointFolder checkpoints) {
  std::unique_ptr<Loop> loop(new Loop(session, job, options, std::move(checkpoints)));
  if (Status status = loop->prepare(resume); !status.ok())
    return status;
  return loop;
}

/// Whether a signal prevented the evaluation that was due after the checkpoint's step.
bool Loop::owesEvaluationAt(const TrainPosition &position) {
  auto found = position.runState.find(owed);
  return found != position.runState.end() && found->second == std::vector{double(position.step)};
}

Status Loop::prepare(const Checkpoint *resume) {
  uint64_t wantedSeed = job.seed;
  if (Status status = prepareTraining(resume); !status.ok())
    return status;
  bool stepsAreBatches = findEnd(resume);
  watch.emplace(job, rates.plateau());
  lossScale = job.lossScale;
  if (resume) {
    lossScale.restore(resume->position().runState);
    if (Status status = observePruning(); !status.ok())
      return status;
    watch->restore(resume->position().runState, pruningLeft > 0);
  }
  whyStopped = watch->whyEnd();
  stopped = !whyStopped.empty();
  if (Status status = prepareOutputs(resume); !status.ok())
    return status;
  owesEvaluation = resume && !evaluations.empty() && owesEvaluationAt(resume->position());
  progress.emplace(/*descriptor=*/isFirst(options) ? 1 : -1, options.quiet || !isFirst(options),
                   lastStep, training.dataset->batchSize());
  input.emplace(log, *progress);
  sayPlacement();
  if (!job.earlierRun.empty())
    progress->print(text("'", job.earlierRun, "' holds an earlier run: this one is kept in '",
                         job.checkpointFolder, '\''));
  if (options.exportPath.empty() && replacesOther(job, session.artifact()))
    progress->print(text("the end of this run replaces '", job.exportPath,
                         "', which another job has written: --export names another file"));
  if (!job.passedOver.empty())
    progress->print(text("passing over '", job.passedOver, "', which is of another model"));
  if (resume)
    progress->print(text("going on from '", resume->file(), '\''));
  if (resume)
    sayWhatDiffers(stepsAreBatches, wantedSeed);
  if (resume && resume->lacksAverages(session.artifact()))
    progress->print("the checkpoint has no averages of weights: they begin at its weights");
  warnOfIdleRanks();
  sayWhatIsLeftOut("training", *training.dataset, job.data);
  for (size_t i = 0; i < evaluations.size(); ++i) {
    const Phase &phase = evaluations[i].phase;
    sayWhatIsLeftOut(i ? text("evaluation set '", phase.set, '\'') : "evaluation", *phase.dataset,
                     i ? job.evaluationSets[i - 1].data : job.evaluationData);
  }
  return {};
}

/// Fails if the training data have another number of rows than those of the checkpoint. The rows
/// that fill no batch count, because how many they are depends on the size of the batches.
Status Loop::expectRows(const TrainPosition &position, const Dataset &dataset) {
  auto found = position.runState.find(leftOut);
  bool isKnown = found != position.runState.end() && found->second.size() == 1 &&
                 found->second[0] >= 0 && found->second[0] < 0x1p53;
  uint64_t before = position.rows + (isKnown ? uint64_t(found->second[0]) : 0);
  uint64_t rows = uint64_t(dataset.rows()), now = rows + uint64_t(dataset.droppedRows());
  // Earlier versions did not say how many rows were left out.
  if (before == now || (!isKnown && before == rows))
    return {};
  return Status::error(text("cannot resume: the checkpoint was written with ", before,
                            " training rows, the data now gives ", now));
}

/// The training data, and the position to begin at.
Status Loop::prepareTraining(const Checkpoint *resume) {
  if (resume) {
    job.seed = resume->position().seed;
    *job.dataState = resume->position().dataState;
  }
  turns.emplace(Config::job(session.artifact()),
                [&](std::string_view name) { return session.findEntry(name) != nullptr; });
  std::vector<std::string> names;
  for (const Turns::Entry &entry : turns->entries())
    names.push_back(job.isStage ? text(entry.name, GRADC_STAGE_INFIX, options.ranks->partOfModel())
                                : entry.name);
  if (!options.log.empty() && options.findRate.empty())
    parameters = ParameterWatch(session, Config::job(session.artifact()));
  for (const Turns::Entry &entry : turns->entries()) {
    std::string name = text(entry.name, GRADC_WATCH_SUFFIX);
    bool isWatched = !options.log.empty() && session.findEntry(name);
    watching.push_back(isWatched ? names.size() : 0);
    if (isWatched)
      names.push_back(std::move(name));
  }
  auto phase = Phase::make(session, names, job.data, job);
  if (!phase)
    return phase.status();
  training = std::move(*phase);
  if (stepsApart())
    if (Status status = expectRowsForAll(); !status.ok())
      return status;
  const Dataset &dataset = *training.dataset;
  walk.emplace(training);
  if (resume) {
    const TrainPosition &position = resume->position();
    if (position.rows == 0)
      return Status::error("cannot resume: the checkpoint has no position in training data: it is "
                           "of a session's steps, not of a training");
    if (Status same = expectRows(position, dataset); !same.ok())
      return same;
    if (Status status = resume->restore(session); !status.ok())
      return status;
    if (Status status = walk->restore(position.data); !status.ok())
      return status;
    done = checkpointedAt = int64_t(position.step);
    lastCheckpoint = resume->file();
    if (options.ranks && isFirst(options))
      options.ranks->atCheckpoint(lastCheckpoint);
  }
  return {};
}

/// Returns null if there is no such state.
static const std::vector<double> *find(const RunState &state, const char *name) {
  auto found = state.find(name);
  return found == state.end() ? nullptr : &found->second;
}

/// The sum, or `Job::unlimited` if it is larger.
static int64_t sum(int64_t a, int64_t b) {
  return b > 0 && a > Job::unlimited - b ? Job::unlimited : a + b;
}

/// Sets the last step: that of the last epoch, unless the number of steps is reached first. Returns
/// whether the steps so far are the batches before the current position, as they are unless the
/// batch size has changed.
bool Loop::findEnd(const Checkpoint *resume) {
  const Dataset &dataset = *training.dataset;
  Position at = walk->position();
  auto epoch = int64_t(at.epoch);
  int64_t perEpoch = dataset.batchesPerEpoch(), left = dataset.batchesLeft(at);
  auto epochsOf = [&](int64_t batches) { return batches / perEpoch + (batches % perEpoch != 0); };
  // Checkpoints of earlier versions do not say the size. It then counts as unchanged.
  bool keepsSize = true;
  const std::vector<double> *kept = resume ? find(resume->position().runState, batching) : nullptr;
  if (kept && kept->size() == 2) {
    keepsSize = (*kept)[0] == double(dataset.batchSize());
    if (!keepsSize)
      stepsAhead = left - (epoch + 1) * perEpoch + done;
    else if ((*kept)[1] > -0x1p53 && (*kept)[1] <= double(done))
      stepsAhead = int64_t((*kept)[1]);
  }
  // Skipped rows count in the position but are in no batch. How many batches they cost is not known
  // before the end, so a resumed run takes for its length what the whole run takes.
  bool skips = job.data.string("on_error") == "SKIP";
  lastStep = job.steps;
  if (job.epochs <= job.steps / perEpoch) {
    int64_t more = epoch < job.epochs ? left + (job.epochs - epoch - 1) * perEpoch : 0;
    more = std::min(more, Job::unlimited - done);
    int64_t whole = sum(job.epochs * perEpoch, stepsAhead);
    lastStep = std::min(job.steps, std::max(done + more, skips ? whole : 0));
  }
  int64_t steps = lastStep - done, begun = epoch + (steps > 0 || at.row > 0);
  int64_t epochs = skips ? epochsOf(sum(lastStep, -stepsAhead))
                         : begun + epochsOf(std::max(steps - left, int64_t(0)));
  rates = RateSchedule(job.schedule, job.learningRate, {lastStep, epochs});
  int64_t before = dataset.batchesBefore(at);
  if (skips)
    return keepsSize && stepsAhead == 0;
  return done == epoch * perEpoch + before && before + left == perEpoch;
}

/// `set`: the set of the evaluation that has the data; "": none.
Status Loop::prepareEvaluation(Config data, const std::string &set) {
  std::string name = GRADC_EVALUATE_ENTRY;
  // Entries for whole batches only are evaluated by each rank alone.
  const gradc_artifact_entry *entry = Phase::entryOf(session, name, set);
  bool isDivided = options.ranks && job.sharesEvaluation && entry && entry->any_rows;
  Job shared = job;
  if (job.isStage) // for evaluations, each stage has the whole model
    shared.share = {options.ranks->rank(), options.ranks->size()};
  shared.share.unit = 1; // evaluations have a single part
  if (!isDivided)
    shared.share = {};
  auto evaluated = Phase::make(session, {&name, 1}, data, shared, set);
  if (!evaluated)
    return evaluated.status();
  evaluations.push_back({std::move(*evaluated), isDivided});
  return {};
}

/// Everything else that may fail is tried before the first step.
Status Loop::prepareOutputs(const Checkpoint *resume) {
  if (job.evaluationData)
    if (Status status = prepareEvaluation(job.evaluationData, ""); !status.ok())
      return status;
  for (const EvaluationSet &set : job.evaluationSets)
    if (Status status = prepareEvaluation(set.data, set.name); !status.ok())
      return status;
  if (Status status = writeFitted(session, *job.dataState); !status.ok())
    return status;
  if (!job.checkpointFolder.empty()) {
    for (Status status : {checkpoints.create(), checkpoints.lock()})
      if (!status.ok())
        return status;
    if (!resume || !checkpoints.holds(resume->file()))
      if (Status status = checkpoints.expectNone(); !status.ok())
        return status;
  }
  if (!job.exportPath.empty())
    if (Status status = AtomicFile::check(job.exportPath); !status.ok())
      return status;
  if (!options.log.empty() && isFirst(options))
    if (Status status =
            log.open(pathOfVariant(options.log, options.variant), /*append=*/resume != nullptr);
        !status.ok())
      return status;

  if (!options.trace.empty() && isFirst(options)) {
    if (Status status = trace.open(pathOfVariant(options.trace, options.variant)); !status.ok())
      return status;
    session.profile(true);
    walk->iterator().trace();
  }
  return {};
}

/// Reports settings in which the checkpoint differs from the job, and which of the two is used.
/// `stepsAreBatches`: the result of `findEnd`. Steps of a session (gradc_train_step) are no batches
/// of the data.
void Loop::sayWhatDiffers(bool stepsAreBatches, uint64_t wantedSeed) {
  if (!stepsAreBatches)
    progress->print(text("the checkpoint was trained with batches of another size than ",
                         training.dataset->batchSize(), " or by single steps: steps count on from ",
                         done, ", and the epochs end at step ", lastStep));
  if (wantedSeed != job.seed)
    progress->print(text("the checkpoint was trained with seed ", job.seed,
                         ", which stays; the spec's is ", wantedSeed));
}

/// Ranks that have no rows even of a whole batch compute each step for nothing.
void Loop::warnOfIdleRanks() {
  int64_t batch = training.dataset->batchSize(), idle = job.share.ranks - batch / job.share.unit;
  if (idle > 0)
    progress->warn(text(idle, " of the ", job.share.ranks, " ranks that share batches of ", batch,
                        " rows ", idle == 1 ? "has" : "have",
                        " none: start fewer ranks, or choose a larger batch.size"));
}

void Loop::sayWhatIsLeftOut(const std::string &what, const Dataset &dataset, Config data) {
  if (dataset.droppedRows() && !data.child("batch").boolean("drop_remainder", false))
    progress->print(text("an epoch of ", what, " leaves out ", rowsLeftOut(dataset, data)));
}

} // namespace gradc::runtime
