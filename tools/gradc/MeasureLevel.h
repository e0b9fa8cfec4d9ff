// The numbers of a level's row, measured on this machine.
#ifndef TOOLS_GRADC_MEASURELEVEL_H
#define TOOLS_GRADC_MEASURELEVEL_H

#include "dialects/exec/Level.h"

namespace gradc {

/// A number of the table that can be measured on a CPU.
struct LevelNumber {
  const char *name, *unit;
  double scale; ///< one unit in bytes, seconds, or per second
  double (*of)(const mlir::exec::Level &);
};
llvm::ArrayRef<LevelNumber> levelNumbers();

/// A copy of the row of a CPU's level in which every one of `levelNumbers` is this machine's own.
mlir::exec::Level measureLevel(const mlir::exec::Level &row);

} // namespace gradc

#endif
