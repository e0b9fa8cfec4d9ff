// What this machine can do at most, measured now: the roof over every kernel.
#ifndef TOOLS_GRADC_PEAKS_H
#define TOOLS_GRADC_PEAKS_H

#include "llvm/ADT/StringRef.h"

namespace gradc {

/// Rates by the number of threads; with those in between on a line.
struct Peak {
  double one = 0, all = 0;
  int threads = 1;

  double at(int used) const {
    return threads > 1 ? one + (all - one) * (used - 1) / (threads - 1) : one;
  }
};

struct Peaks {
  Peak flops;             ///< f32 multiply-adds a second, two flops each, in registers
  Peak bytes;             ///< a second, read and written by a triad
  int64_t triadBytes = 0; ///< over so many bytes
};

/// `level`: whose instructions to use. `workingSet`: bytes that a step touches, so that a step
/// which fits a cache is measured against the cache.
Peaks measurePeaks(llvm::StringRef level, int threads, int64_t workingSet);

} // namespace gradc

#endif
