// A step's scalar inputs and its results, by the roles of an entry's ports.
#ifndef RUNTIME_TRAIN_ENTRY_STEPPORTS_H
#define RUNTIME_TRAIN_ENTRY_STEPPORTS_H

#include "runtime/core/RandomSeed.h"
#include "runtime/include/gradc/roles.h"

#include <cmath>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace gradc::runtime {

/// The step's inputs other than data.
struct StepScalars {
  float learningRate = 0;
  float momentum = 0;
  int64_t step = 0; ///< from 1; without updates, what chooses the numbers of random ops
  uint64_t seed = 0;
  int64_t skipped = 0; ///< number of earlier steps that optimizers do not count
  float lossScale = 1;
};

/// The addresses that ports with the step's roles are bound to.
class StepPorts {
public:
  void set(const StepScalars &scalars) {
    learningRate.value = scalars.learningRate;
    for (Group &group : groups)
      group.rate.value = float(scalars.learningRate * group.share);
    momentum.value = scalars.momentum;
    step.value = float(scalars.step - scalars.skipped);
    counter.value = int32_t(scalars.step);
    seed.value = randomSeed(scalars.seed);
    lossScale.value = scalars.lossScale;
  }
  /// The learning rate of a group, relative to the step's.
  const void *groupRate(std::string_view group, double share) {
    return &groups.emplace_back(std::string(group), share).rate;
  }
  /// Replaces the group's share for the next step; returns false if there is no group of that name.
  bool setGroupRate(std::string_view name, float rate) {
    bool isKnown = false;
    for (Group &group : groups)
      if (group.name == name) {
        group.rate.value = rate;
        isKnown = true;
      }
    return isKnown;
  }
  /// Null if the port is data or the session's.
  const void *input(uint32_t role) const {
    switch (role) {
    case GRADC_ROLE_LEARNING_RATE:
      return &learningRate;
    case GRADC_ROLE_MOMENTUM:
      return &momentum;
    case GRADC_ROLE_STEP:
      return &step;
    case GRADC_ROLE_COUNTER:
      return &counter;
    case GRADC_ROLE_SEED:
      return &seed;
    case GRADC_ROLE_LOSS_SCALE:
      return &lossScale;
    default:
      return nullptr;
    }
  }
  /// Null if the port is not a result of the step itself.
  void *output(uint32_t role) {
    switch (role) {
    case GRADC_ROLE_LOSS:
      return &loss;
    case GRADC_ROLE_GRADIENT_NORM:
      hasNorm = true;
      return &norm;
    case GRADC_ROLE_PROCEED:
      return &proceed;
    default:
      return nullptr;
    }
  }
  /// False if the loss or a gradient is not finite, so that the update was skipped.
  bool proceeded() const { return proceed && std::isfinite(loss) && std::isfinite(norm); }
  /// Nullopt if no port asks for it.
  std::optional<float> gradientNorm() const { return hasNorm ? std::optional(norm) : std::nullopt; }

  float loss = 0;
  uint8_t proceed = 1;

private:
  /// In its own cache line, since a session reads aligned inputs in place.
  template <typename T> struct alignas(64) Aligned {
    T value = 0;
  };
  struct Group {
    Group(std::string name, double share) : name(std::move(name)), share(share) {}
    std::string name;
    double share;
    Aligned<float> rate;
  };

  std::deque<Group> groups; // whose addresses must not change
  Aligned<float> learningRate, momentum, step, lossScale;
  Aligned<int32_t> counter, seed;
  float norm = 0;
  bool hasNorm = false;
};

} // namespace gradc::runtime

#endif
