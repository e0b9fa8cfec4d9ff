// The learning rate of each step, defined by the spec's `schedule`.
#ifndef RUNTIME_TRAIN_RATES_RATESCHEDULE_H
#define RUNTIME_TRAIN_RATES_RATESCHEDULE_H

#include "runtime/train/rates/Plateau.h"

#include <functional>
#include <optional>

namespace gradc::runtime {

class RateSchedule {
public:
  /// The length of the whole run.
  struct Run {
    int64_t steps = 1, epochs = 1;
  };

  RateSchedule() = default;
  /// `schedule` may be absent; `rate` is the optimizer's.
  RateSchedule(Config schedule, double rate, Run run);

  /// The rate of the step that follows `steps` attempted steps and `epochs` completed epochs.
  double rate(int64_t steps, int64_t epochs) const;
  /// The momentum of that step, which replaces the optimizer's; nullopt if the schedule does not
  /// change it.
  std::optional<double> momentum(int64_t steps, int64_t epochs) const;
  /// Null if the schedule does not depend on evaluations.
  Plateau *plateau() { return thePlateau ? &*thePlateau : nullptr; }

  /// For example "0.001, warm-up (steps 100), then cosine (end 0.1) by epochs".
  static std::string describe(Config schedule, double rate);

private:
  /// The argument of the schedule: steps or epochs, depending on its unit.
  double count(int64_t steps, int64_t epochs) const;

  double base = 0;
  bool byEpochs = false;
  int64_t warmUpSteps = 0;
  double warmUpFactor = 0;
  std::function<double(double count)> shape;      ///< empty: 1
  std::function<double(double count)> momentumOf; ///< empty: the optimizer's
  std::optional<Plateau> thePlateau;
};

} // namespace gradc::runtime

#endif
