// Cumulative sums and products that one CPU kernel computes: their schedule and time.
#ifndef PASSES_SCHEDULE_CUMULATIVEKERNEL_H
#define PASSES_SCHEDULE_CUMULATIVEKERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// Whether one kernel computes the op: a cumulative sum or product of enough elements.
bool isCumulativeKernel(mlir::Operation *op, const mlir::exec::KernelLimits &limits);

/// The elements along `dim` are accumulated one by one.
struct CumulativePlan {
  /// Of a kernel that is one cumulative sum or product; none for other kernels.
  static std::optional<CumulativePlan> of(mlir::exec::KernelOp kernel);

  int64_t dim, size; ///< `size`: the elements along the dim
  bool isSum;        ///< false: a product
  bool isExclusive, isReversed;
};
/// A tile has neighbouring rows, side by side in vectors along the last dim, if that has several
/// elements and is not the accumulated dim. Otherwise a tile is one row.
mlir::exec::ScheduleAttr scheduleCumulative(mlir::exec::KernelOp kernel, const CumulativePlan &plan,
                                            int64_t lanes, const mlir::exec::Level &level);
/// The tiles of a scheduled kernel that go along the dim together, with their sums in scratch
/// memory; 0: each tile goes alone.
int64_t cumulativeTilesTogether(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);
/// Scratch bytes per thread; 0 for other kernels.
int64_t cumulativeScratchBytes(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);
/// The seconds that the kernel takes on one core.
double cumulativeSeconds(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
