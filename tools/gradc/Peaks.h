// This machine's limits, measured now: the roofline of every kernel.
#ifndef TOOLS_GRADC_PEAKS_H
#define TOOLS_GRADC_PEAKS_H

#include "llvm/ADT/StringRef.h"

namespace gradc {

/// Rates by number of threads, interpolated linearly between the measured ones.
struct Peak {
  double one = 0, all = 0;
  int threads = 1;

  double at(int used) const {
    return threads > 1 ? one + (all - one) * (used - 1) / (threads - 1) : one;
  }
};

struct Peaks {
  Peak flops;             ///< f32 multiply-adds per second, two flops each, in registers
  Peak bytes;             ///< per second, read and written by a triad
  int64_t triadBytes = 0; ///< over this number of bytes
};

/// `level`: whose instructions to use. `workingSet`: bytes that a step touches, so that a step that
/// fits a cache is compared with that cache.
Peaks measurePeaks(llvm::StringRef level, int threads, int64_t workingSet);

} // namespace gradc

#endif
