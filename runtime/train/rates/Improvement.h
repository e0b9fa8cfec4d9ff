// Whether a metric of the evaluations is still improving.
#ifndef RUNTIME_TRAIN_RATES_IMPROVEMENT_H
#define RUNTIME_TRAIN_RATES_IMPROVEMENT_H

#include "runtime/core/artifact/Config.h"
#include "runtime/train/entry/Metric.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gradc::runtime {

class Improvement {
public:
  /// By how much a value must be better than the best one.
  struct Threshold {
    double value = 0;
    bool isRelative = false;
  };

  Improvement() = default;
  /// `block` names the metric and may give its direction.
  Improvement(Config block, Threshold threshold);

  const std::string &metric() const { return name; }
  std::string_view direction() const { return isHighBest ? "MAX" : "MIN"; }
  /// The metric's value in an evaluation; null if the evaluation lacks the metric.
  const double *find(std::span<const Metric> evaluation) const;
  /// Whether the value is better than the best one, which it then replaces.
  bool observe(double value);
  double best() const { return theBest; }
  /// The number of consecutive values that were not better.
  int64_t waited() const { return bad; }
  void beginWaiting() { bad = 0; }

  std::vector<double> state() const { return {theBest, double(bad)}; }
  void restore(std::span<const double> state);

private:
  std::string name = "loss";
  bool isHighBest = false;
  Threshold threshold;
  double theBest = 0;
  int64_t bad = 0;
};

} // namespace gradc::runtime

#endif
