// Ops that a CPU computes whole, each by a kernel that holds nothing else.
#ifndef PASSES_SCHEDULE_ONEOPKERNEL_H
#define PASSES_SCHEDULE_ONEOPKERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// The functions by which passes treat the kernels of one op with the trait `OwnKernel`. The kernel
/// that a function takes holds such an op alone.
struct OneOpKernel {
  bool (*isOf)(mlir::Operation *op);
  /// Whether one kernel computes the op faster than the ops of its decomposition do.
  bool (*suits)(mlir::Operation *op, const mlir::exec::KernelLimits &limits);
  /// The schedule of a kernel, with an algorithm that code generation knows.
  mlir::exec::ScheduleAttr (*schedule)(mlir::exec::KernelOp kernel, int64_t lanes,
                                       const mlir::exec::Level &level);
  /// The seconds that a scheduled kernel takes on one core. `core`: the level with the
  /// rates of the machine's core.
  double (*seconds)(mlir::exec::KernelOp kernel, const mlir::exec::Level &core);
  /// Scratch bytes per thread of a scheduled kernel. Null: none.
  int64_t (*scratchBytes)(mlir::exec::KernelOp kernel, const mlir::exec::Level &level) = nullptr;
  /// The seconds by which each of `rows` rows of the batch takes longer alone. Null: none.
  double (*secondsAlone)(mlir::exec::KernelOp kernel, int64_t rows,
                         const mlir::exec::Level &level) = nullptr;
};

/// Each is defined in the file of its name, and listed in OneOpKernel.cpp.
extern const OneOpKernel attentionKernel, sortKernel, suppressionKernel, cumulativeKernel,
    fourierKernel, positionsKernel;

/// Whether a kernel of its own suits the op.
bool suitsOneOpKernel(mlir::Operation *op, const mlir::exec::KernelLimits &limits);
/// The answers for a kernel of one op, before or after it is scheduled; null for other kernels.
const OneOpKernel *oneOpKernel(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
