// Measures to choose the number of threads that make batches, and the number of batches made ahead.
#ifndef RUNTIME_DATA_LOAD_AUTOTUNE_H
#define RUNTIME_DATA_LOAD_AUTOTUNE_H

#include <cstddef>
#include <cstdint>

namespace gradc::runtime {

/// Settings of the loader. They never change the batches.
struct InputTuning {
  int workers = 0; ///< threads beside the caller; 0: the caller makes batches itself
  int depth = 1;   ///< batches ahead of the step
  bool operator==(const InputTuning &) const = default;
};

/// Measurements since the last decision.
struct InputPeriod {
  double waitShare = 0;    ///< of the time, spent by the caller on waiting or making batches
  double batchSeconds = 0; ///< work per batch, over all threads
  bool sawFull = false;    ///< as many batches were ahead as allowed
  bool sawEmpty = false;   ///< the caller had to wait
  double busyThreads = 0;  ///< beside the caller, on average
};

class Autotune {
public:
  struct Limits {
    int workers = 0; ///< fixed number; 0: to be chosen
    int depth = 0;   ///< the same
    int maxWorkers = 1, maxDepth = 2;
  };
  explicit Autotune(const Limits &limits);

  const InputTuning &tuning() const { return now; }
  /// The settings to use from now on.
  InputTuning decide(const InputPeriod &period);

private:
  Limits limits;
  InputTuning now;
};

} // namespace gradc::runtime

#endif
