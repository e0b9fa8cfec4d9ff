// Whether a metric of the evaluations still becomes better.
#ifndef RUNTIME_TRAIN_IMPROVEMENT_H
#define RUNTIME_TRAIN_IMPROVEMENT_H

#include "runtime/core/Config.h"
#include "runtime/train/Trainer.h"

#include <span>
#include <string>
#include <vector>

namespace gradc::runtime {

class Improvement {
public:
  /// By how much a value has to be better than the best one.
  struct Threshold {
    double value = 0;
    bool isRelative = false;
  };

  Improvement() = default;
  /// `block` names the metric and may give its direction.
  Improvement(Config block, Threshold threshold);

  const std::string &metric() const { return name; }
  /// The metric's value among those of an evaluation; null where it has none of that name.
  const double *find(std::span<const Metric> evaluation) const;
  /// Whether the value is better than the best one, which it then becomes.
  bool observe(double value);
  double best() const { return theBest; }
  /// Values in a row that were not better.
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
