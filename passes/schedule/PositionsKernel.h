// Coordinates of true elements that one CPU kernel finds: their schedule and time.
#ifndef PASSES_SCHEDULE_POSITIONSKERNEL_H
#define PASSES_SCHEDULE_POSITIONSKERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// Whether one kernel computes the op: the positions of the true ones among enough elements.
bool isPositionsKernel(mlir::Operation *op, const mlir::exec::KernelLimits &limits);
/// Whether the kernel computes them.
bool isPositionsKernel(mlir::exec::KernelOp kernel);

/// The result is one tile: where an element is stored depends on all before it.
mlir::exec::ScheduleAttr schedulePositions(mlir::exec::KernelOp kernel, int64_t lanes,
                                           const mlir::exec::Level &level);
/// The seconds that the kernel takes on one core.
double positionsSeconds(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
