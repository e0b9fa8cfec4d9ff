// A kernel that adds up many sums to one number, cut so that the sums need not wait for each other.
#ifndef PASSES_CUTSUMS_H
#define PASSES_CUTSUMS_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// Cuts the scheduled kernels of a GPU level in which one team computes several sums of all of a
/// tensor, one after the other (a global norm), behind those sums.
void cutSums(mlir::ModuleOp module, const mlir::exec::Level &level, mlir::SymbolTable &symbols);

} // namespace gradc

#endif
