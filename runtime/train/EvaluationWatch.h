// The consequences of a run's evaluations.
#ifndef RUNTIME_TRAIN_EVALUATIONWATCH_H
#define RUNTIME_TRAIN_EVALUATIONWATCH_H

#include "runtime/train/Checkpoint.h"
#include "runtime/train/RateSchedule.h"

namespace gradc::runtime {

/// Looks at the evaluations that the job asks for, in their order. The one at the end of a run that
/// is cut short is none of them: a longer run would not make it.
class EvaluationWatch {
public:
  /// `plateau` may be null; it outlives the watch.
  explicit EvaluationWatch(Plateau *plateau) : plateau(plateau) {}

  struct Verdict {
    bool reducesRate = false;
  };
  Verdict observe(std::span<const Metric> evaluation);

  RunState state() const;
  void restore(const RunState &state);

private:
  Plateau *plateau;
};

} // namespace gradc::runtime

#endif
