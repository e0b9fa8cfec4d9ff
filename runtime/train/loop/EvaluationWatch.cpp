// Passes evaluations to their observers, and keeps the observers' state for checkpoints.
#include "runtime/train/loop/EvaluationWatch.h"

#include "runtime/base/Text.h"
#include "runtime/train/report/Log.h"

namespace gradc::runtime {

static constexpr std::string_view plateauRule = "plateau", stoppingRule = "early_stopping",
                                  bestRule = "best";

/// The key of a rule's state. It names the metric, because the best value of one metric cannot be
/// compared with values of another.
static std::string keyOf(std::string_view rule, const Improvement &improvement) {
  return text(rule, " by ", improvement.direction(), ' ', improvement.metric());
}

EvaluationWatch::EvaluationWatch(const Job &job, Plateau *plateau) : plateau(plateau) {
  if (job.best || job.evaluationData) // if absent, the metric is the loss
    bestMetric.emplace(job.best, Improvement::Threshold());
  if (job.earlyStopping) {
    stopping.emplace(job.earlyStopping,
                     Improvement::Threshold{job.earlyStopping.real("min_delta", 0)});
    patience = job.earlyStopping.integer("patience", 1);
  }
}

EvaluationWatch::Verdict EvaluationWatch::observe(std::span<const Metric> evaluation,
                                                  int64_t step) {
  Verdict verdict;
  verdict.reducesRate = plateau && plateau->observe(evaluation);
  verdict.isBest = observeEnd(evaluation, step);
  if (stopping)
    if (const double *value = stopping->find(evaluation))
      stopping->observe(*value);
  return verdict;
}

bool EvaluationWatch::observeEnd(std::span<const Metric> evaluation, int64_t step) {
  const double *value = bestMetric ? bestMetric->find(evaluation) : nullptr;
  if (!value || !bestMetric->observe(*value))
    return false;
  theBestStep = step;
  return true;
}

std::string EvaluationWatch::whyEnd() const {
  if (!stopping || stopping->waited() < patience)
    return {};
  return text("no better ", stopping->metric(), " in ", stopping->waited(), " evaluations");
}

std::string EvaluationWatch::bestText() const {
  Metric metric = best();
  return text(metricsText({&metric, 1}), " at step ", theBestStep);
}

RunState EvaluationWatch::state() const {
  RunState state;
  if (plateau)
    state[keyOf(plateauRule, plateau->rule())] = plateau->state();
  if (stopping)
    state[keyOf(stoppingRule, *stopping)] = stopping->state();
  if (bestMetric) {
    std::vector<double> &best = state[keyOf(bestRule, *bestMetric)] = bestMetric->state();
    best.push_back(double(theBestStep));
  }
  return state;
}

void EvaluationWatch::restore(const RunState &state, bool isPruning) {
  auto find = [&](std::string_view rule, const Improvement &improvement) {
    auto found = state.find(keyOf(rule, improvement));
    if (found == state.end())
      found = state.find(std::string(rule)); // earlier versions did not name the metric
    return found == state.end() ? std::span<const double>() : std::span(found->second);
  };
  if (plateau) {
    if (!isPruning)
      plateau->restore(find(plateauRule, plateau->rule()));
    // With a rule for another metric, the rate stays as low as it is.
    for (const auto &[key, other] : state)
      if (key.starts_with(text(plateauRule, " by ")))
        plateau->restoreFactor(other);
  }
  if (isPruning)
    return;
  if (stopping)
    stopping->restore(find(stoppingRule, *stopping));
  if (!bestMetric)
    return;
  if (std::span<const double> best = find(bestRule, *bestMetric); best.size() >= 3) {
    bestMetric->restore(best);
    theBestStep = int64_t(best[2]);
  }
}

} // namespace gradc::runtime
