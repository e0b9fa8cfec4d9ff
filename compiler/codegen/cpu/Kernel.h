// One kernel of the schedule as a function: the loops over its root space.
#ifndef COMPILER_CODEGEN_CPU_KERNEL_H
#define COMPILER_CODEGEN_CPU_KERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc::cpu {

/// Builds `void SYMBOL(void *const *slices, int64_t begin, int64_t end, int64_t rows, void
/// *scratch)` into `module`. The kernel's region is linalg on tensors.
llvm::LogicalResult emitKernel(mlir::exec::KernelOp kernel, const mlir::exec::Level &level,
                               mlir::ModuleOp module, llvm::StringRef symbol);

} // namespace gradc::cpu

#endif
