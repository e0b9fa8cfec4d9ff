// The cost of waiting for batches and of making them since the last decision.
#ifndef RUNTIME_DATA_LOAD_TUNINGPERIOD_H
#define RUNTIME_DATA_LOAD_TUNINGPERIOD_H

#include "runtime/data/load/Autotune.h"

#include <optional>
#include <vector>

namespace gradc::runtime {

/// Used by the caller's thread. Times in nanoseconds, work in seconds over all threads since the
/// start.
class TuningPeriod {
public:
  /// Records that the caller asked for batches made by other threads, and received `count` of them.
  void countWait(int64_t from, int64_t to, size_t count) {
    begin = begin ? begin : from;
    end = to;
    waited += to - from;
    batches += int64_t(count);
  }
  void sawFull() { seen.sawFull = true; }
  void sawEmpty() { seen.sawEmpty = true; }
  /// Returns the measurements if they suffice for a decision, and begins a new period. `help`: the
  /// caller's part of the work.
  std::optional<InputPeriod> closeBeside(double work, double help);
  /// Must be called after each batch that the caller made itself.
  std::optional<InputPeriod> closeAlone(double work);

private:
  InputPeriod close(double work, double help, double waitShare, double batchSeconds);

  int64_t begin = 0, end = 0, waited = 0, batches = 0;
  double workBefore = 0, helpBefore = 0;
  std::vector<double> costs; ///< of each batch that the caller made
  InputPeriod seen;
};

} // namespace gradc::runtime

#endif
