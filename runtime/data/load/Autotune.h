// How many threads make batches, and how many batches ahead of the step: decided by measuring.
#ifndef RUNTIME_DATA_AUTOTUNE_H
#define RUNTIME_DATA_AUTOTUNE_H

#include <cstddef>
#include <cstdint>

namespace gradc::runtime {

/// What the loader uses. Whatever it is, the batches are the same.
struct InputTuning {
  int workers = 0; ///< threads beside the caller; 0: the caller makes batches itself
  int depth = 1;   ///< batches ahead of the step
  bool operator==(const InputTuning &) const = default;
};

/// What was seen since the last decision.
struct InputPeriod {
  double waitShare = 0;    ///< of the time, that the caller waited for a batch or made it itself
  double batchSeconds = 0; ///< work for a batch, over all threads
  bool sawFull = false;    ///< all batches that may be ahead were
  bool sawEmpty = false;   ///< the caller had to wait
  double busyThreads = 0;  ///< beside the caller, on average
};

class Autotune {
public:
  struct Limits {
    int workers = 0; ///< fixed number; 0: to be found
    int depth = 0;   ///< the same
    int maxWorkers = 1, maxDepth = 2;
  };
  explicit Autotune(const Limits &limits);

  const InputTuning &tuning() const { return now; }
  /// What to use from now on.
  InputTuning decide(const InputPeriod &period);

private:
  Limits limits;
  InputTuning now;
};

} // namespace gradc::runtime

#endif
