// gradc compile --tune: measures schedules of a program's kernels on this machine.
#ifndef COMPILER_TUNE_TUNE_H
#define COMPILER_TUNE_TUNE_H

#include "passes/support/Tuning.h"

namespace gradc {

struct TuneResult {
  int measured = 0, faster = 0; ///< kernels, and those of them that get another schedule
  int otherBits = 0;            ///< of these, ones that sum in another order
  int left = 0;                 ///< kernels for which there was no time
  double before = 0, after = 0; ///< seconds of all measured launches on one thread
};

/// Adds to `tuning` the fastest schedule found for each kernel of a planned level that it has none
/// for, those that take longest first. `level` is one that this machine executes. Kernels that take
/// next to no time, look values up by index, or write a table in place keep their schedules.
TuneResult tune(mlir::ModuleOp level, double seconds, Tuning &tuning);

} // namespace gradc

#endif
