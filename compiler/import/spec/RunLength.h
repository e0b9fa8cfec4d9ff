// The number of steps of a run, as far as its spec and its data determine it.
#ifndef COMPILER_IMPORT_SPEC_RUNLENGTH_H
#define COMPILER_IMPORT_SPEC_RUNLENGTH_H

#include "compiler/import/spec/training.pb.h"

#include <optional>

namespace gradc {

/// Steps reach a training function as f32, which has all whole numbers up to this one.
inline constexpr int64_t mostCountedSteps = 1 << 24;

struct RunLength {
  int64_t epochs = 0;              ///< 0: any number, because the spec limits steps alone
  std::optional<int64_t> perEpoch; ///< steps; unknown for batches by length, or unknown data
  std::optional<int64_t> steps;    ///< of the whole run

  /// `rows`: that an epoch visits; -1: unknown.
  RunLength(const spec::Training &training, int64_t rows);
};

} // namespace gradc

#endif
