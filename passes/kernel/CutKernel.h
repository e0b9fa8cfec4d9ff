// Splits a kernel into several kernels.
#ifndef PASSES_KERNEL_CUTKERNEL_H
#define PASSES_KERNEL_CUTKERNEL_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// Replaces a kernel and its `launches` by several: one kernel for each of `cuts`, independent
/// values of the region, which yields that value, and a final kernel for the rest, which takes
/// these values as its last operands. The new kernels have neither schedules nor library calls.
llvm::SmallVector<mlir::exec::KernelOp> cutKernel(mlir::exec::KernelOp kernel,
                                                  llvm::ArrayRef<mlir::Value> cuts,
                                                  llvm::ArrayRef<mlir::exec::LaunchOp> launches,
                                                  mlir::SymbolTable &symbols);

} // namespace gradc

#endif
