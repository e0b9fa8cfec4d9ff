// The factor of the loss that keeps small gradients of 16 bits from becoming 0.
#ifndef RUNTIME_TRAIN_LOSSSCALE_H
#define RUNTIME_TRAIN_LOSSSCALE_H

#include "runtime/core/Config.h"
#include "runtime/train/Checkpoint.h"

#include <cstdint>

namespace gradc::runtime {

/// A power of two that adapts during training, as in torch.amp.GradScaler: halved after a step
/// whose gradients are not finite, doubled after a number of finite steps in a row.
class LossScale {
public:
  LossScale() = default; ///< 1, always
  /// `loss_scaling` of a spec; absent: its defaults.
  explicit LossScale(Config scaling);

  bool isDynamic() const { return dynamic; }
  float value() const { return float(scale); }
  /// Steps whose update was left out, of those that the run's number of steps counts.
  int64_t skipped() const { return skippedSteps; }
  /// After a step that was made.
  void grow();
  /// After one that was not. False: no smaller scale is allowed. `isCounted`: by the run's number
  /// of steps.
  bool backOff(bool isCounted = true);

  void keep(RunState &state) const;
  void restore(const RunState &state);

private:
  bool dynamic = false;
  double scale = 1, floor = 1;
  int64_t interval = 2000, streak = 0, skippedSteps = 0;
};

/// The scale that a job begins with.
LossScale lossScaleOf(Config job);

} // namespace gradc::runtime

#endif
