// The consequences of a run's evaluations.
#ifndef RUNTIME_TRAIN_LOOP_EVALUATIONWATCH_H
#define RUNTIME_TRAIN_LOOP_EVALUATIONWATCH_H

#include "runtime/train/checkpoint/Checkpoint.h"
#include "runtime/train/job/Job.h"
#include "runtime/train/rates/RateSchedule.h"

namespace gradc::runtime {

/// Observes the evaluations that the job asks for, in order. The final evaluation of a run that is
/// cut short may be the best one but has no other effect: a longer run would not perform it.
/// Evaluations before masks of pruned parameters are final are not observed: what follows has fewer
/// weights, and is mostly worse.
class EvaluationWatch {
public:
  /// `plateau` may be null; it must outlive the watch.
  EvaluationWatch(const Job &job, Plateau *plateau);

  struct Verdict {
    bool reducesRate = false, isBest = false;
  };
  Verdict observe(std::span<const Metric> evaluation, int64_t step);
  /// Whether the last evaluation of the run is the best one.
  bool observeEnd(std::span<const Metric> evaluation, int64_t step);

  /// Why the run should end: "no better loss in 5 evaluations"; empty if it should continue.
  std::string whyEnd() const;
  /// The step of the best evaluation; -1 if there was none, also because of pruning.
  int64_t bestStep() const { return theBestStep; }
  /// For example "accuracy 0.9812 at step 120".
  std::string bestText() const;
  Metric best() const { return {bestMetric->metric(), bestMetric->best()}; }

  RunState state() const;
  /// `isPruning`: masks are not final, so that what an earlier job has observed does not count: its
  /// model has more weights. The learning rate stays as low as it is.
  void restore(const RunState &state, bool isPruning);

private:
  Plateau *plateau;
  std::optional<Improvement> bestMetric, stopping;
  int64_t theBestStep = -1, patience = 0;
};

} // namespace gradc::runtime

#endif
