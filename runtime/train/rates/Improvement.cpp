// Compares like PyTorch's ReduceLROnPlateau.
#include "runtime/train/rates/Improvement.h"

#include <algorithm>
#include <limits>

namespace gradc::runtime {

Improvement::Improvement(Config block, Threshold threshold)
    : name(block.string("metric", "loss")), isHighBest(block.string("direction", "MIN") == "MAX"),
      threshold(threshold), theBest(isHighBest ? -std::numeric_limits<double>::infinity()
                                               : std::numeric_limits<double>::infinity()) {}

const double *Improvement::find(std::span<const Metric> evaluation) const {
  auto found = std::ranges::find(evaluation, name, &Metric::name);
  return found == evaluation.end() ? nullptr : &found->value;
}

bool Improvement::observe(double value) {
  double margin = isHighBest ? threshold.value : -threshold.value;
  double bar = threshold.isRelative ? theBest * (1 + margin) : theBest + margin;
  bool isBetter = isHighBest ? value > bar : value < bar; // false for NaN
  bad = isBetter ? 0 : bad + 1;
  if (isBetter)
    theBest = value;
  return isBetter;
}

void Improvement::restore(std::span<const double> state) {
  if (state.size() < 2)
    return;
  theBest = state[0];
  bad = int64_t(state[1]);
}

} // namespace gradc::runtime
