// gradc compile --tune: measures schedules of a program's kernels on this machine.
#ifndef COMPILER_TUNE_TUNE_H
#define COMPILER_TUNE_TUNE_H

#include "passes/schedule/Tuning.h"
#include "llvm/Support/Error.h"

namespace gradc {

struct TuneResult {
  int measured = 0, faster = 0; ///< kernels, and those of them that get another schedule
  int otherBits = 0;            ///< of these, ones that sum in another order
  int left = 0;                 ///< kernels for which there was no time
  int failed = 0;               ///< kernels that could not be run here, or crashed with a variant
  double before = 0, after = 0; ///< seconds of all measured launches on one thread
};

/// Adds to `tuning` the fastest schedule found for each kernel of a planned level that it has none
/// for, those that take longest first, and calls `save` after each. Schedules of `tuning` that
/// these kernels cannot have are removed first. `level` is one that this machine executes. Kernels
/// that take next to no time, look values up by index, write a table in place, or update a state
/// that ranks divide keep their schedules. Stops at an error of `save`.
llvm::Expected<TuneResult> tune(mlir::ModuleOp level, double seconds, Tuning &tuning,
                                llvm::function_ref<llvm::Error()> save);

} // namespace gradc

#endif
