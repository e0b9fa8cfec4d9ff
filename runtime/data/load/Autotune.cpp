// Adds threads and batches while the step waits. Unneeded threads sleep.
#include "runtime/data/load/Autotune.h"

#include <algorithm>

namespace gradc::runtime {

// The caller itself makes batches that take no longer than handing them over.
constexpr double worthAThread = 1e-6;
constexpr double waitsTooLong = 0.005;
// Threads that hardly rest make batches as fast as they can; storing more batches would not help.
constexpr double hardlyRests = 0.9;
// Waking a thread also costs the caller some microseconds, so a thread is woken once for batches
// worth this time.
constexpr double worthWaking = 200e-6;
constexpr int maxSmallBatches = 64;

Autotune::Autotune(const Limits &limits) : limits(limits) {
  now.workers = limits.workers;
  now.depth = limits.depth ? limits.depth : std::min(2, limits.maxDepth);
}

InputTuning Autotune::decide(const InputPeriod &period) {
  if (limits.workers == 0 && now.workers == 0) {
    if (period.batchSeconds > worthAThread && period.waitShare > waitsTooLong &&
        limits.maxWorkers > 0) {
      now.workers = 1;
      int small = int(std::min(2 * worthWaking / period.batchSeconds, double(maxSmallBatches)));
      if (!limits.depth)
        now.depth = std::min(std::max(now.depth, small), limits.maxDepth);
    }
    return now;
  }
  if (period.waitShare <= waitsTooLong)
    return now;
  // For batches of uneven cost, a larger store bridges the expensive ones.
  bool isUneven =
      period.sawFull && period.sawEmpty && period.busyThreads < hardlyRests * double(now.workers);
  if (!limits.depth && isUneven && now.depth < limits.maxDepth)
    now.depth = std::min(2 * now.depth, limits.maxDepth);
  else if (!limits.workers && period.sawEmpty && now.workers < limits.maxWorkers)
    ++now.workers;
  return now;
}

} // namespace gradc::runtime
