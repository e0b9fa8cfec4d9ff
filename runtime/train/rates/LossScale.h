// The factor of the loss that keeps small 16-bit gradients from becoming 0.
#ifndef RUNTIME_TRAIN_RATES_LOSSSCALE_H
#define RUNTIME_TRAIN_RATES_LOSSSCALE_H

#include "runtime/core/artifact/Config.h"
#include "runtime/train/checkpoint/Checkpoint.h"

#include <cstdint>

namespace gradc::runtime {

/// A power of two that adapts during training, as in torch.amp.GradScaler: halved after a step with
/// non-finite gradients, doubled after a number of consecutive finite steps.
class LossScale {
public:
  LossScale() = default; ///< 1, always
  /// `scaling`: the spec's `loss_scaling`; if absent, the defaults apply.
  explicit LossScale(Config scaling);

  bool isDynamic() const { return dynamic; }
  float value() const { return float(scale); }
  /// The number of counted steps whose update was skipped.
  int64_t skipped() const { return skippedSteps; }
  /// Called after a step that was applied.
  void grow();
  /// Called after a step that was skipped. Returns false if no smaller scale is allowed.
  /// `isCounted`: the step counts in the run's number of steps.
  bool backOff(bool isCounted = true);

  void keep(RunState &state) const;
  void restore(const RunState &state);

private:
  bool dynamic = false;
  double scale = 1, floor = 1;
  int64_t interval = 2000, streak = 0, skippedSteps = 0;
};

/// The scale that a job starts with.
LossScale lossScaleOf(Config job);

} // namespace gradc::runtime

#endif
