// Measures the numbers of a level's row on this machine.
#ifndef TOOLS_GRADC_DOCTOR_MEASURELEVEL_H
#define TOOLS_GRADC_DOCTOR_MEASURELEVEL_H

#include "compiler/Forecast.h"

namespace gradc {

/// A number in the table that can be measured on a CPU.
struct LevelNumber {
  const char *name, *unit;
  double scale; ///< one unit in bytes, seconds, or per second
  double (*of)(const mlir::exec::Level &);
};
llvm::ArrayRef<LevelNumber> levelNumbers();

/// A copy of the row of a CPU level, with all of `levelNumbers` measured on this machine.
mlir::exec::Level measureLevel(const mlir::exec::Level &row);

/// The rates of a core and of `threads` threads, and of each cache.
Machine measureMachine(const mlir::exec::Level &level, int threads);

} // namespace gradc

#endif
