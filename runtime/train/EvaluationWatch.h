// The consequences of a run's evaluations.
#ifndef RUNTIME_TRAIN_EVALUATIONWATCH_H
#define RUNTIME_TRAIN_EVALUATIONWATCH_H

#include "runtime/train/Checkpoint.h"
#include "runtime/train/Job.h"
#include "runtime/train/RateSchedule.h"

namespace gradc::runtime {

/// Looks at the evaluations that the job asks for, in their order. The one at the end of a run that
/// is cut short may be the best one, but counts for nothing else: a longer run would not make it.
class EvaluationWatch {
public:
  /// `plateau` may be null; it outlives the watch.
  EvaluationWatch(const Job &job, Plateau *plateau);

  struct Verdict {
    bool reducesRate = false, isBest = false;
  };
  Verdict observe(std::span<const Metric> evaluation, int64_t step);
  /// Whether the last evaluation of the run is the best one.
  bool observeEnd(std::span<const Metric> evaluation, int64_t step);

  /// The run should end: "no better loss in 5 evaluations". Empty: it goes on.
  std::string whyEnd() const;
  /// The best evaluation's step; -1: there was none.
  int64_t bestStep() const { return theBestStep; }
  /// "accuracy 0.9812 at step 120"
  std::string bestText() const;
  Metric best() const { return {bestMetric->metric(), bestMetric->best()}; }

  RunState state() const;
  void restore(const RunState &state);

private:
  Plateau *plateau;
  std::optional<Improvement> bestMetric, stopping;
  int64_t theBestStep = -1, patience = 0;
};

} // namespace gradc::runtime

#endif
