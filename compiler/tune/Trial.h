// Runs schedules of one kernel on this machine and compares their times and results.
#ifndef COMPILER_TUNE_TRIAL_H
#define COMPILER_TUNE_TRIAL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

#include <chrono>
#include <vector>

namespace gradc {

/// A launch of a kernel with one schedule.
struct Trial {
  double seconds = 0;    ///< on one thread, median; 0: not measured
  bool sameBits = false; ///< as with the first schedule
};

/// Compiles the kernel with each schedule, and runs all of them alternately on values between 1/4
/// and 1. A schedule is not measured if it is refused, its results differ from those of the first
/// by more than rounding, it is much slower, or there is no time before the deadline. Code runs in
/// a process of its own: if it crashes, no schedule is measured. `isWarm`: operands come from the
/// L2 cache if they fit, otherwise from memory beyond it.
std::vector<Trial> tryOut(mlir::exec::KernelOp kernel,
                          llvm::ArrayRef<mlir::exec::ScheduleAttr> schedules,
                          const mlir::exec::Level &level, bool isWarm,
                          std::chrono::steady_clock::time_point deadline);

} // namespace gradc

#endif
