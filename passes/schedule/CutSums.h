// Splits kernels that add many sums to one number, so that the sums need not wait for each other.
#ifndef PASSES_SCHEDULE_CUTSUMS_H
#define PASSES_SCHEDULE_CUTSUMS_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// Finds the scheduled kernels of a GPU level in which one team computes several full-tensor sums
/// sequentially (a global norm), and cuts them after these sums.
void cutSums(mlir::ModuleOp module, const mlir::exec::Level &level, mlir::SymbolTable &symbols);

} // namespace gradc

#endif
