// Hands evaluations to those who look at them, and keeps their state for checkpoints.
#include "runtime/train/EvaluationWatch.h"

namespace gradc::runtime {

EvaluationWatch::Verdict EvaluationWatch::observe(std::span<const Metric> evaluation) {
  Verdict verdict;
  verdict.reducesRate = plateau && plateau->observe(evaluation);
  return verdict;
}

RunState EvaluationWatch::state() const {
  RunState state;
  if (plateau)
    state["plateau"] = plateau->state();
  return state;
}

void EvaluationWatch::restore(const RunState &state) {
  if (auto found = state.find("plateau"); plateau && found != state.end())
    plateau->restore(found->second);
}

} // namespace gradc::runtime
