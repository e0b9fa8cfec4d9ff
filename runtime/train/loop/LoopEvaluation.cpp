// Evaluations during a run, and the decisions that depend on them: a lower rate, the best
// checkpoint, early stopping.
#include "runtime/train/loop/Loop.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gradc::runtime {

/// The metrics of the evaluation, then those of its sets; none if a signal came meanwhile.
Result<std::vector<Metric>> Loop::evaluateAll() {
  std::vector<Metric> metrics;
  for (const Evaluated &one : evaluations) {
    // Ranks agree on a signal during a step only.
    auto found = evaluate(one.phase, job.seed, one.isDivided ? options.ranks : nullptr,
                          options.ranks ? nullptr : options.interrupt);
    if (!found || found->empty())
      return found;
    std::ranges::move(*found, std::back_inserter(metrics));
  }
  return metrics;
}

/// Evaluates because the job asks for it after this step, unless a signal ends the run first.
Status Loop::evaluateAsDue() {
  owesEvaluation = true; // says a checkpoint that is written because a data file was cut off
  Status status;
  if (!vote.signal())
    status = traced("evaluation", [&] { return evaluateNow(); });
  owesEvaluation = evaluatedAt != done;
  stopped |= owesEvaluation;
  return status.ok() && !owesEvaluation ? drawConclusions() : status;
}

/// Makes the evaluation that the signal prevented, before the first step of the resumed run.
Status Loop::evaluateAsOwed() {
  Status status = meet();
  if (status.ok())
    status = evaluateAsDue();
  if (!status.ok() || owesEvaluation)
    return status;
  checkpointedAt = -1; // that checkpoint does not have the conclusions
  sayEpoch(true);
  lastTime = Clock::now();
  return {};
}

/// Evaluates after the last step of the run, unless the job has asked for that anyway.
Status Loop::evaluateAtEnd() {
  if (Status status = traced("evaluation", [&] { return evaluateNow(); }); !status.ok())
    return status;
  if (evaluatedAt != done) {
    summary.signal = vote.signal();
    return {};
  }
  if (!pruningLeft && watch->observeEnd(summary.evaluation, done))
    if (Status status = keepBest(); !status.ok())
      return status;
  sayEpoch(true);
  return {};
}

/// Finds out how many steps are left until all masks are final. The counted steps decide, not the
/// steps of the run: some are skipped, and a run may begin with a checkpoint of other turns.
Status Loop::observePruning() {
  pruningLeft = 0;
  for (const PruningEnd &end : job.pruningEnds) {
    float counted = 0;
    if (end.counter)
      if (Status read = session.readState(*end.counter, &counted); !read.ok())
        return read;
    int64_t steps = end.counter ? int64_t(counted) : done - lossScale.skipped();
    if (end.step - steps <= pruningLeft)
      continue;
    pruningLeft = end.step - steps;
    pruningIsOfSome = end.counter.has_value();
  }
  return {};
}

std::string Loop::pruningText() const {
  return text("pruning lasts ", pruningLeft, " more step", pruningLeft == 1 ? "" : "s",
              pruningIsOfSome ? " of those that train its parameters" : "");
}

/// Acts on an evaluation that the job asks for.
Status Loop::drawConclusions() {
  if (Status status = observePruning(); !status.ok() || pruningLeft)
    return status;
  EvaluationWatch::Verdict verdict = watch->observe(summary.evaluation, done);
  if (verdict.reducesRate) {
    double factor = rates.plateau()->factor();
    log.line("plateau").integer("step", done).real("factor", factor);
    progress->print(text("no better ", rates.plateau()->metric(),
                         ": the learning rate is reduced to ", float(factor),
                         " of what it would be"));
  }
  whyStopped = watch->whyEnd();
  stopped |= !whyStopped.empty();
  return verdict.isBest ? keepBest() : Status();
}

Status Loop::keepBest() {
  if (!job.keepsCheckpoints)
    return {};
  Metric best = watch->best();
  log.line("best").integer("step", done).string("metric", best.name).real("value", best.value);
  keptBest = true;
  if (!isFirst(options))
    return joinCheckpoint(session);
  // It is often replaced soon, so only the one that a step's checkpoint refers to is worth waiting
  // for the disk: see syncBest.
  Status written = traced("best checkpoint", [&] {
    return withLastWhole(
        writeCheckpoint(checkpoints.best(), session, position(), /*isDurable=*/false));
  });
  if (written.ok() && options.ranks && lastCheckpoint.empty())
    options.ranks->atCheckpoint(checkpoints.best()); // better than to begin again
  return written;
}

/// A run resumed from the next checkpoint finds the best states so far, even after a crash of the
/// machine.
Status Loop::syncBest() {
  if (!std::exchange(keptBest, false) || !isFirst(options))
    return {};
  return AtomicFile::sync(checkpoints.best());
}

/// Restores the states of the best evaluation in the session, and in the values gathered from
/// ranks.
Status Loop::restoreBest(StateValues &gathered) {
  auto best = Checkpoint::open(checkpoints.best());
  if (!best)
    return best.status();
  // A run resumed from an older checkpoint may not have reached its best evaluation again.
  if (int64_t(best->position().step) != watch->bestStep())
    return Status::error(text("cannot export the best states, of step ", watch->bestStep(), ": '",
                              best->file(), "' is of step ", best->position().step));
  Status restored = best->restore(session);
  for (const Checkpoint::State &state : best->states())
    if (auto found = gathered.find(state.name); restored.ok() && found != gathered.end())
      found->second.assign(state.bytes.begin(), state.bytes.end());
  return restored;
}

/// Exports the session's states, or those of the best evaluation.
Status Loop::exportNow() {
  std::string which;
  auto gathered = gatherExport(session);
  if (!gathered)
    return gathered.status();
  if (job.exportBest && watch->bestStep() >= 0) {
    Status restored = restoreBest(*gathered);
    if (!restored.ok() && job.bestIsAsked)
      return restored;
    which = restored.ok() ? text(" the best states, of step ", watch->bestStep(), ", as")
                          : text(" the last states (", restored.message(), ") as");
  } else if (job.exportBest && pruningLeft) {
    which = text(" the last states (", pruningText(),
                 ", and evaluations before its end are never the best) as");
  }
  int64_t steps = done - lossScale.skipped();
  auto write = [&] { return exportOnnx(session, job.exportPath, steps, std::move(*gathered)); };
  if (Status status = traced("export", write); !status.ok())
    return status;
  log.line("export").string("path", job.exportPath);
  exported = job.exportPath;
  std::string_view inputs = exportedInputs(session.artifact());
  progress->print(
      text("exported", which, " '", job.exportPath, '\'', inputs.empty() ? "" : "; ", inputs));
  return {};
}

} // namespace gradc::runtime
