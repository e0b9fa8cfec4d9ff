// One kernel of the schedule as a GPU function.
#ifndef COMPILER_CODEGEN_CUDA_KERNEL_H
#define COMPILER_CODEGEN_CUDA_KERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc::cuda {

/// Builds `kernel SYMBOL(void *slice0, void *slice1, ..., int64_t rows)` into `module`, for a grid
/// of exec::kernelUnits blocks or, in a run of fewer rows, of exec::blocksOfRows. The kernel's
/// region is linalg on tensors. `moving`: the slices that may move with the iterations of loops, as
/// exec::movingSlices finds them. Unless it is empty, the kernel has one parameter more,
/// `const int64_t *offsets`: null, or the bytes to add to each slice.
llvm::LogicalResult emitKernel(mlir::exec::KernelOp kernel, const mlir::exec::Level &level,
                               mlir::ModuleOp module, llvm::StringRef symbol,
                               const llvm::BitVector &moving);

} // namespace gradc::cuda

#endif
