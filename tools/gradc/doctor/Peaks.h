// This machine's limits, measured now: the roofline of each kernel.
#ifndef TOOLS_GRADC_DOCTOR_PEAKS_H
#define TOOLS_GRADC_DOCTOR_PEAKS_H

#include "llvm/ADT/StringRef.h"
#include <functional>

namespace gradc {

/// Rates by number of threads, interpolated linearly between measured ones.
struct Peak {
  double one = 0, all = 0;
  int threads = 1;

  double at(int used) const {
    return threads > 1 ? one + (all - one) * (used - 1) / (threads - 1) : one;
  }
};

struct Peaks {
  Peak flops;             ///< f32 multiply-adds per second, two flops each, in registers
  Peak int8Flops;         ///< the same of 8-bit integers: as many times more as the level says
  Peak bytes;             ///< per second, read and written by a triad
  int64_t triadBytes = 0; ///< over this number of bytes
};

/// `level`: the level whose instructions are used. `workingSet`: the bytes that a step touches, so
/// that a step that fits in a cache is compared with that cache.
Peaks measurePeaks(llvm::StringRef level, int threads, int64_t workingSet);

/// The seconds of the fastest of several runs in which all threads do the same work concurrently.
double fastest(int threads, const std::function<void(int)> &work);
/// Flops per second of independent multiply-adds; `wide` uses 512-bit registers.
double measureFlops(bool wide, int threads);
/// Flops per second of multiply-adds of which each waits for the one before.
double measureChain(bool wide);
/// Bytes per second that a triad over `workingSet` bytes reads and writes.
double measureTriad(int threads, int64_t workingSet);

} // namespace gradc

#endif
