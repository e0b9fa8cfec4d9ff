// Non-maximum suppressions that one CPU kernel computes.
#ifndef PASSES_SCHEDULE_SUPPRESSIONKERNEL_H
#define PASSES_SCHEDULE_SUPPRESSIONKERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"

namespace gradc {

/// Whether one kernel computes the op: a suppression of boxes in f32 or f64.
bool isSuppressionKernel(mlir::Operation *op);
/// Whether the kernel computes one.
bool isSuppressionKernel(mlir::exec::KernelOp kernel);

/// The boxes that are kept lie in a thread's scratch memory: five tensors of their sides and areas,
/// each of whole vectors and aligned to a cache line.
int64_t suppressionPieceBytes(mlir::exec::KernelOp kernel);
/// Scratch bytes per thread; 0 for other kernels.
int64_t suppressionScratchBytes(mlir::exec::KernelOp kernel);
/// The seconds that the kernel takes on one core, if one box in ten is a candidate and one in a
/// hundred is kept.
double suppressionSeconds(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
