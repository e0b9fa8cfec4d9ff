// Cumulative sums and products that one CPU kernel computes.
#ifndef PASSES_SCHEDULE_CUMULATIVEKERNEL_H
#define PASSES_SCHEDULE_CUMULATIVEKERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// The elements along `dim` are accumulated one by one.
struct CumulativePlan {
  /// Of a kernel that is one cumulative sum or product; none for other kernels.
  static std::optional<CumulativePlan> of(mlir::exec::KernelOp kernel);

  int64_t dim, size; ///< `size`: the elements along the dim
  bool isSum;        ///< false: a product
  bool isExclusive, isReversed;
};
/// The tiles of a scheduled kernel that go along the dim together, with their sums in scratch
/// memory; 0: each tile goes alone.
int64_t cumulativeTilesTogether(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

} // namespace gradc

#endif
