// The bounds of the scale, and what a checkpoint keeps of it.
#include "runtime/train/rates/LossScale.h"

#include <algorithm>

namespace gradc::runtime {

/// No scale grows beyond this: the scaled loss itself would soon overflow. A spec may start higher.
static constexpr double most = 0x1p+24;
static constexpr const char *key = "loss scale";

LossScale::LossScale(Config scaling)
    : dynamic(true), scale(scaling.real("initial", 65536)), floor(scaling.real("floor", 1)),
      interval(scaling.integer("growth_interval", 2000)) {}

LossScale lossScaleOf(Config job) {
  return job.string("precision") == "FP16" ? LossScale(job.child("loss_scaling")) : LossScale();
}

void LossScale::grow() {
  if (!dynamic || ++streak < interval)
    return;
  streak = 0;
  scale = std::max(scale, std::min(scale * 2, most));
}

bool LossScale::backOff(bool isCounted) {
  if (!dynamic || scale <= floor)
    return false;
  skippedSteps += isCounted;
  streak = 0;
  scale = std::max(scale / 2, floor);
  return true;
}

void LossScale::keep(RunState &state) const {
  if (dynamic)
    state[key] = {scale, double(streak), double(skippedSteps)};
}

void LossScale::restore(const RunState &state) {
  auto kept = state.find(key);
  if (!dynamic || kept == state.end() || kept->second.size() != 3)
    return;
  scale = kept->second[0];
  streak = int64_t(kept->second[1]);
  skippedSteps = int64_t(kept->second[2]);
}

} // namespace gradc::runtime
