// gradc plan --time: predicts the times of an entry's launches on a CPU.
#ifndef COMPILER_FORECAST_H
#define COMPILER_FORECAST_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// A cache, or memory.
struct MemoryTier {
  int64_t bytes;   ///< its capacity
  double one, all; ///< bytes per second of a triad of one thread, and of all threads together
};

/// The rates and cache sizes of a machine, from measurements.
struct Machine {
  mlir::exec::Level core;        ///< one thread's rates and cache sizes
  int threads = 1;               ///< of a run
  double flops = 0;              ///< per second, f32 multiply-adds of all threads, two flops each
  std::vector<MemoryTier> tiers; ///< the smallest first; the last is memory
  double inFlight = 8;           ///< independent multiply-adds of a core that reach its peak
};

struct NodeForecast {
  double seconds = 0; ///< in all iterations of the loops around it; of a kernel or copy, else 0
  int threads = 1;    ///< that share it
  bool waits = false; ///< for memory, longer than it computes

  const char *bound() const { return waits ? "memory" : "cpu"; }
};

/// One forecast per node of the entry, in the order of exec::nodesOf. Arithmetic hides most of the
/// time of memory accesses, or they hide most of it. A cache still has the more of a slice, the
/// less has been accessed since its last use.
std::vector<NodeForecast> forecast(mlir::exec::EntryOp entry, const Machine &machine);

} // namespace gradc

#endif
