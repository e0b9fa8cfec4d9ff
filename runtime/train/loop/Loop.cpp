// The steps, and the work between them: evaluation, checkpoints, log, the end.
#include "runtime/train/loop/Loop.h"

#include "runtime/base/Text.h"
#include "runtime/data/source/MappedFile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace gradc::runtime {

static double millisecondsBetween(Progress::Clock::time_point from,
                                  Progress::Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

/// Prints the placement at the start and after each change.
void Loop::sayPlacement() {
  std::string placement = session.placement();
  if (placement != saidPlacement)
    progress->print(placement);
  saidPlacement = std::move(placement);
}

Result<TrainSummary> Loop::run() {
  if (Status begun = log.begin(); !begun.ok())
    return begun;
  log.line(done ? "resume" : "start")
      .integer("step", done)
      .integer("steps", lastStep)
      .integer("seed", int64_t(job.seed))
      .string("level", session.artifact().string(session.level().name));
  Clock::time_point begin = Clock::now();
  Status status = trainSteps();
  sayPlacement();
  summary.seconds = millisecondsBetween(begin, Clock::now()) / 1e3;
  summary.steps = done;
  if (summary.seconds > 0)
    summary.samplesPerSecond = samples / summary.seconds;
  if (status.ok())
    status = finish();
  // The log up to a failure shows how it came about.
  for (Status written : {log.flush(), trace.close()})
    if (status.ok())
      status = written;
  if (!status.ok())
    return status;
  return std::move(summary);
}

Status Loop::trainSteps() {
  lastTime = Clock::now();
  beginEpoch();
  if (owesEvaluation)
    if (Status status = evaluateAsOwed(); !status.ok())
      return status;
  while (!isLast(done, walk->position()) && !stopped)
    if (Status status = step(); !status.ok())
      return status;
  return {};
}

Status Loop::step() {
  // 1. A batch.
  Clock::time_point begin = Clock::now();
  Status status = walk->fetch();
  if (Status whole = MappedFile::expectWhole(); !whole.ok())
    return stopForCutOff(whole);
  if (!status.ok())
    return status;
  Clock::time_point fetched = Clock::now();

  // 2. The step.
  const Batch &batch = walk->batch();
  int64_t epochsBefore = int64_t(batch.after.epoch) - batch.endsEpoch;
  size_t turn = turns->entryOf(done);
  walk->choose(turn, turns->entryOf(done + 1));
  const Turns::Entry &entry = turns->entries()[turn];
  double rate = options.rateOfStep ? options.rateOfStep(done) : rates.rate(done, epochsBefore);
  rate *= entry.share;
  report.momentum = options.rateOfStep ? std::nullopt : rates.momentum(done, epochsBefore);
  float momentum = options.rateOfStep ? float(entry.momentum) : report.momentum.value_or(0);
  StepScalars scalars{float(rate),         momentum,         done + 1, job.seed,
                      lossScale.skipped(), lossScale.value()};
  if (parameters.isDue(done + 1)) {
    if (status = meet(); !status.ok())
      return status;
    status = traced("watch", [&] { return watchParameters(turn, scalars); });
    if (!status.ok())
      return status;
    lastTime = Clock::now(); // it is not part of the step's time
  }
  if (status = session.holdWholeStates(false); !status.ok())
    return status;
  if (status = vote.begin(done); !status.ok())
    return status;
  bool goesOn = !isLast(done + 1, batch.after);
  if (status = stepsApart() ? runApart(scalars, goesOn) : walk->run(scalars, goesOn); !status.ok())
    return status;
  if (status = vote.end(); !status.ok())
    return status;
  EntryCall &call = walk->call();
  Clock::time_point now = Clock::now();
  ++done;
  samples += double(batch.allRows);
  summary.lastLoss = call.loss();
  epochLoss += call.loss() * double(batch.allRows);
  epochRows += double(batch.allRows);

  // 3. The report.
  report.step = done;
  report.entry = entry.block;
  report.epoch = int64_t(batch.after.epoch) + !batch.endsEpoch;
  report.loss = call.loss();
  report.learningRate = scalars.learningRate;
  report.gradientNorm = call.gradientNorm();
  report.metrics = call.metrics();
  report.lossScale = lossScale.isDynamic() ? std::optional(lossScale.value()) : std::nullopt;
  report.skipped = lossScale.skipped();
  report.inputMilliseconds = millisecondsBetween(begin, fetched) + 1e3 * walk->held();
  report.milliseconds = millisecondsBetween(lastTime, now);
  lastTime = now;
  log.step(report);
  input->step(report, batch, walk->iterator());
  traceStep(call, begin, fetched, now);
  // A search for a learning rate ends when the loss is not finite; that is not a failure.
  bool mayFail = options.findRate.empty();
  bool isRight = call.proceeded() || servesWorkers(); // a worker reports its own step
  if (Status skipped = isRight ? Status() : skipStep(call); !skipped.ok() && mayFail)
    return skipped;
  if (call.proceeded())
    lossScale.grow();
  progress->step(report, now);
  sayThaw();
  stopped = (options.onStep && !options.onStep(report)) || vote.signal();
  return endStep(batch.endsEpoch);
}

void Loop::traceStep(const EntryCall &call, Clock::time_point begin, Clock::time_point fetched,
                     Clock::time_point end) {
  if (!trace.isOpen())
    return;
  auto nanoseconds = [](Clock::time_point time) {
    return std::chrono::nanoseconds(time.time_since_epoch()).count();
  };
  trace.span("step", "step", nanoseconds(begin), nanoseconds(end), done);
  trace.span("wait for input", "input", nanoseconds(begin), nanoseconds(fetched), done);
  trace.launches(session, call.calledEntry());
  walk->iterator().takeSpans(inputSpans);
  for (const InputSpan &span : inputSpans)
    trace.input(span);
  // The time for writing is not part of the next step's time.
  lastTime = Clock::now();
}

Status Loop::endStep(bool endsEpoch) {
  int64_t epochs = report.epoch;
  bool evaluates =
      !evaluations.empty() &&
      ((job.evaluateEverySteps && done % job.evaluateEverySteps == 0) ||
       (job.evaluateEveryEpochs && endsEpoch && epochs % job.evaluateEveryEpochs == 0));
  bool saves = (job.checkpointEverySteps && done % job.checkpointEverySteps == 0) ||
               (job.checkpointEveryEpochs && endsEpoch && epochs % job.checkpointEveryEpochs == 0);
  saves = saves && job.keepsCheckpoints;
  if (evaluates || saves)
    if (Status status = meet(); !status.ok())
      return status;
  if (evaluates)
    if (Status status = evaluateAsDue(); !status.ok())
      return status;
  bool isEvaluated = evaluates && !owesEvaluation;
  // Short epochs are not worth a line each.
  bool isDue = Clock::now() - epochSaid >= std::chrono::seconds(1);
  bool isEnd = evaluations.empty() && isLast(done, walk->position());
  if (isEvaluated || (endsEpoch && (isDue || isEnd)))
    sayEpoch(isEvaluated);
  if (endsEpoch)
    beginEpoch();
  if (saves)
    if (Status status = traced("checkpoint", [&] { return checkpointNow(); }); !status.ok())
      return status;
  // The time for these is not part of the next step's time.
  if (evaluates || saves)
    lastTime = Clock::now();
  return log.write();
}

Status Loop::finish() {
  summary.signal = vote.signal();
  for (Status status : {meet(), observePruning()})
    if (!status.ok())
      return status;
  if (!evaluations.empty() && evaluatedAt != done && !summary.signal)
    if (Status status = evaluateAtEnd(); !status.ok())
      return status;
  bool signalled = summary.signal != 0;
  if (job.keepsCheckpoints && checkpointedAt != done)
    if (Status status = traced("checkpoint", [&] { return checkpointNow(); }); !status.ok())
      return status;
  if (Status status = syncBest(); !status.ok())
    return status;
  if (job.keepsExport && !signalled) {
    if (Status status = isFirst(options) ? exportNow() : joinExport(session); !status.ok())
      return status;
  }

  input->finish(done, walk->iterator());
  logEnd(signalled);
  sayEnd(signalled);
  sayWhatWasMade(signalled);
  return {};
}

void Loop::logEnd(bool isSignalled) {
  LogLine line = log.line("done");
  line.integer("step", done)
      .integer("epochs", int64_t(walk->position().epoch))
      .real("seconds", summary.seconds)
      .real("samples_per_second", summary.samplesPerSecond);
  if (summary.lastLoss)
    line.real("last_loss", *summary.lastLoss);
  for (const Metric &metric : summary.evaluation)
    line.metric(metric);
  if (watch->bestStep() >= 0)
    line.integer("best_step", watch->bestStep()).real("best", watch->best().value);
  if (options.ranks)
    line.integer("ranks", options.ranks->size())
        .integer("sent_bytes", int64_t(options.ranks->sentBytes()));
  line.string("reason", isSignalled           ? "signal"
                        : !whyStopped.empty() ? "early_stopping"
                        : stopped             ? "stopped"
                                              : "finished");
}

void Loop::sayEnd(bool isSignalled) {
  std::string result;
  if (!summary.lastLoss && isSignalled) {
    result = text("stopped before a step: the checkpoint is of step ", done,
                  owesEvaluation ? ", whose evaluation is still to be made" : "");
  } else if (!summary.lastLoss) {
    result = text("no step left to train: the checkpoint is of step ", done,
                  whyStopped.empty() ? text(", the job ends at step ", lastStep)
                                     : text(", with ", whyStopped));
  } else {
    char seconds[40];
    std::snprintf(seconds, sizeof seconds, "%.3f", summary.seconds);
    result = text(isSignalled || stopped ? "stopped after step " : "trained to step ", done, " in ",
                  seconds, " s, ", shortCount(summary.samplesPerSecond), " samples/s; ",
                  metricsText({{{"last loss", double(*summary.lastLoss)}}}));
  }
  if (options.ranks)
    result += text("; by ", options.ranks->size(), " ranks, of which each sent ",
                   shortCount(double(options.ranks->sentBytes())), " bytes");
  if (!whyStopped.empty() && summary.lastLoss)
    result += text("; ended early, with ", whyStopped);
  if (!summary.evaluation.empty())
    result += text("; evaluation: ", metricsText(summary.evaluation));
  if (watch->bestStep() >= 0)
    result += text("; best ", watch->bestText());
  if (pruningLeft)
    result += text("; ", pruningText());
  progress->print(result);
}

/// Leaves `evaluatedAt` as it is if a signal came meanwhile.
Status Loop::evaluateNow() {
  auto result = evaluateAll();
  if (Status whole = MappedFile::expectWhole(); !whole.ok())
    return stopForCutOff(whole);
  if (!result)
    return result.status();
  if (result->empty())
    return {};
  summary.evaluation = std::move(*result);
  summary.ownMetrics = summary.evaluation.size() / evaluations.size();
  evaluatedAt = done;
  // The epoch of the last step, possibly cut short by the end of the job.
  Position position = walk->position();
  int64_t batches = training.dataset->batchesBefore(position);
  int64_t perEpoch = training.dataset->batchesPerEpoch();
  int64_t epoch = int64_t(position.epoch) + (batches > 0);
  {
    LogLine line = log.line("eval");
    line.integer("epoch", epoch).integer("step", done);
    if (batches)
      line.integer("epoch_step", batches).integer("epoch_steps", perEpoch);
    for (const Metric &metric : summary.evaluation)
      line.metric(metric);
  }
  return {};
}

TrainPosition Loop::position() const {
  TrainPosition position = {uint64_t(done), walk->position(), uint64_t(training.dataset->rows()),
                            job.seed,       *job.dataState,   watch->state()};
  position.runState[leftOut] = {double(training.dataset->droppedRows())};
  position.runState[batching] = {double(training.dataset->batchSize()), double(stepsAhead)};
  lossScale.keep(position.runState);
  if (owesEvaluation)
    position.runState[owed] = {double(done)};
  return position;
}

/// Adds the last complete checkpoint to the message of a failed write.
Status Loop::withLastWhole(Status written) const {
  if (written.ok() || lastCheckpoint.empty())
    return written;
  return Status(written.code(), text(written.message(), "; the previous checkpoint '",
                                     lastCheckpoint, "' is whole"));
}

Status Loop::checkpointNow() {
  if (!isFirst(options)) {
    checkpointedAt = done;
    return joinCheckpoint(session);
  }
  if (Status status = withLastWhole(syncBest()); !status.ok())
    return status;
  // A run resumed from this checkpoint finds the log complete up to it, even if this run is killed
  // right after writing it. A log that cannot be written does not cost the checkpoint.
  Status logged = log.flush();
  std::string path = checkpoints.file(done);
  if (Status status = withLastWhole(writeCheckpoint(path, session, position())); !status.ok())
    return status;
  checkpoints.prune(done, job.checkpointKeep);
  checkpointedAt = done;
  summary.checkpoint = lastCheckpoint = path;
  if (options.ranks)
    options.ranks->atCheckpoint(path);
  log.line("checkpoint").integer("step", done).string("path", path);
  keepFirst(logged, log.flush());
  return logged;
}

/// Rows read since a file was cut off may be wrong, but the states of completed steps are right.
Status Loop::stopForCutOff(const Status &failure) {
  std::string message = failure.message();
  // Other ranks may have the complete file and do not reach this point.
  bool isAlone = isFirst(options) && !session.dividesStates();
  if (job.keepsCheckpoints && isAlone && done > 0 && checkpointedAt != done)
    if (Status status = checkpointNow(); !status.ok())
      return Status(status.code(), text(message, "; ", status.message()));
  message +=
      !isAlone
          ? std::string("; once the file is whole, go on from the last checkpoint with --resume")
      : lastCheckpoint.empty()
          ? std::string("; no checkpoint was written")
          : text("; checkpoint '", lastCheckpoint,
                 "' has all that was trained before: once the file is whole, go on with --resume");
  return Status::error(std::move(message));
}

/// Logs the watched parameters of the next step.
Status Loop::watchParameters(size_t turn, const StepScalars &scalars) {
  EntryCall *call = nullptr;
  if (size_t entry = watching[turn]) {
    call = &training.callFor(walk->batch(), entry);
    if (Status ran = call->run(walk->batch(), scalars); !ran.ok())
      return ran;
  }
  return parameters.observe(done + 1, turns->entries()[turn].block, call, log);
}

/// Reports the groups that train from the next step on.
void Loop::sayThaw() {
  std::string patterns = turns->thawnAfter(done);
  if (patterns.empty())
    return;
  log.line("thaw").integer("step", done).string("groups", patterns);
  progress->print(text("step ", done, ": from here on ", patterns, " train, too"));
}

/// A smaller loss scale may make gradients finite again, but not the loss.
Status Loop::skipStep(EntryCall &call) {
  if (!std::isfinite(call.loss()) || !lossScale.backOff())
    return stopForNonFinite(call);
  LogLine line = log.line("skipped");
  line.integer("step", done)
      .integer("skipped", lossScale.skipped())
      .real("scale", lossScale.value());
  if (job.isStage)
    return {};
  if (auto found = call.findNonFinite(); found.ok())
    line.string("node", found->node).string("kernel", found->kernel);
  return {};
}

Status Loop::stopForNonFinite(EntryCall &call) {
  bool lossIsBad = !std::isfinite(call.loss());
  double value = lossIsBad ? double(call.loss()) : double(call.gradientNorm().value_or(NAN));
  std::string message = text(lossIsBad ? "the loss" : "the gradient norm", " is ", value,
                             " at step ", done, " (epoch ", report.epoch, ')');
  bool together = options.ranks && !stepsApart();
  // All ranks then reach this point, and one of them has had the row.
  auto firstOf = [&](const std::string &mine) -> Result<std::string> {
    if (!together)
      return mine;
    auto all = options.ranks->share(mine);
    if (!all)
      return all.status();
    auto found = std::ranges::find_if(*all, [](const std::string &said) { return !said.empty(); });
    return found == all->end() ? std::string() : *found;
  };
  std::string place, noPlace;
  if (job.isStage)
    noPlace = "; the stages of a pipeline do not look for the node that computed it";
  else if (auto found = call.findNonFinite(); found.ok())
    place = text("; the first non-finite value is ", found->value, " at element ", found->index,
                 " of node '", found->node, "' (", found->kernel, ')');
  else
    noPlace = text("; ", found.status().message());
  auto row = firstOf(findNonFiniteData(*training.dataset, walk->batch()));
  auto ofAll = row.ok() ? firstOf(place) : row;
  if (!ofAll)
    return ofAll.status();
  if (!row->empty())
    message += text("; ", *row);
  message += ofAll->empty() ? noPlace : *ofAll;
  message += lastCheckpoint.empty() ? "; no checkpoint was written"
                                    : text("; the last checkpoint is '", lastCheckpoint, '\'');
  log.line("nonfinite").integer("step", done).string("message", message);
  bool isSaid = !options.ranks || together ? isFirst(options) : options.ranks->isFirstToFail();
  Status failed = Status::error(isSaid ? std::move(message) : "");
  return together ? options.ranks->agree(failed, {})
                  : failed; // all ranks wait until the failure is reported
}

} // namespace gradc::runtime
