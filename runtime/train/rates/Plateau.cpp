// The state machine of ReduceLROnPlateau.
#include "runtime/train/rates/Plateau.h"

#include <algorithm>

namespace gradc::runtime {

Plateau::Plateau(Config block, double rate)
    : rate(rate), reduction(block.real("factor", 0.1)), minimum(block.real("minimum", 0)),
      patience(block.integer("patience", 10)), cooldown(block.integer("cooldown", 0)),
      improvement(block, {block.real("threshold", 1e-4), !block.boolean("absolute", false)}) {}

bool Plateau::observe(std::span<const Metric> evaluation) {
  const double *value = improvement.find(evaluation);
  if (!value)
    return false;
  improvement.observe(*value);
  if (coolingDown > 0) {
    --coolingDown;
    improvement.beginWaiting();
  }
  if (improvement.waited() <= patience)
    return false;
  coolingDown = cooldown;
  improvement.beginWaiting();
  double reduced = std::max(scale * reduction, minimum);
  // PyTorch ignores changes as small as this.
  if (rate * (scale - reduced) <= 1e-8)
    return false;
  scale = reduced;
  return true;
}

std::vector<double> Plateau::state() const {
  std::vector<double> state = improvement.state();
  state.push_back(scale);
  state.push_back(double(coolingDown));
  return state;
}

void Plateau::restore(std::span<const double> state) {
  if (state.size() < 4)
    return;
  improvement.restore(state);
  restoreFactor(state);
  coolingDown = int64_t(state[3]);
}

void Plateau::restoreFactor(std::span<const double> state) {
  if (state.size() >= 4)
    scale = state[2];
}

} // namespace gradc::runtime
