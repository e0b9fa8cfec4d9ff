// Reduces the learning rate when a metric reaches a plateau.
#ifndef RUNTIME_TRAIN_RATES_PLATEAU_H
#define RUNTIME_TRAIN_RATES_PLATEAU_H

#include "runtime/train/rates/Improvement.h"

namespace gradc::runtime {

/// PyTorch's ReduceLROnPlateau.
class Plateau {
public:
  /// `block`: the spec's reduce_on_plateau; `rate`: the optimizer's.
  Plateau(Config block, double rate);

  const std::string &metric() const { return improvement.metric(); }
  const Improvement &rule() const { return improvement; }
  /// The factor of the optimizer's rate.
  double factor() const { return scale; }
  /// Called after an evaluation; returns whether it reduced the rate.
  bool observe(std::span<const Metric> evaluation);

  std::vector<double> state() const;
  void restore(std::span<const double> state);
  /// Takes only the factor from the state of a rule that observed another metric.
  void restoreFactor(std::span<const double> state);

private:
  double rate, reduction, minimum;
  int64_t patience, cooldown;
  Improvement improvement;
  double scale = 1;
  int64_t coolingDown = 0;
};

} // namespace gradc::runtime

#endif
