// The ops of a kernel whose updates indices place, which are found for their targets.
#ifndef PASSES_KERNEL_SCATTERS_H
#define PASSES_KERNEL_SCATTERS_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// The scatters of a kernel, lowered to loops or not.
llvm::SmallVector<mlir::Operation *> scattersOf(mlir::exec::KernelOp kernel);

/// The scatter, lowered to loops or not, whose result is the kernel's only one and row-major, so
/// that a schedule of scatters adds updates to the result where it lies. Null if there is none.
mlir::Operation *scatterOfResult(mlir::exec::KernelOp kernel);

/// Whether each tile searches all indices for updates of its targets, as a scatter does unless
/// indices choose along the last dim, where each lane has a target of its own.
bool searchesUpdates(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
