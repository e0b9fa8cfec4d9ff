// The cost model: the time of flops and bytes on a level. Passes query it instead of defining their
// own rates.
#ifndef PASSES_KERNEL_COSTMODEL_H
#define PASSES_KERNEL_COSTMODEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// Seconds that work takes on one CPU core or on a whole GPU.
struct Cost {
  double arithmetic = 0, traffic = 0;
};

class CostModel {
public:
  explicit CostModel(const mlir::exec::Level &level) : level(level) {}

  /// The cost of a kernel's generated code, from its `flops` and `bytes`.
  Cost kernel(mlir::exec::KernelOp kernel) const;
  /// A lower bound on the seconds of any code with these flops and bytes.
  double floor(int64_t flops, int64_t bytes) const;
  /// Whether a kernel takes no longer than its launch.
  bool isSmall(mlir::exec::KernelOp kernel) const;
  /// The min number of units, of `units` in total, for which another CPU thread pays. `repeated`:
  /// seconds that each thread takes however few its units are.
  int64_t grain(mlir::exec::KernelOp kernel, int64_t units, double repeated = 0) const;

  /// Whether a product of bf16 pairs saves more time than packing its factors of these types takes.
  bool paysPacking(mlir::exec::KernelOp product, llvm::ArrayRef<mlir::Type> factors) const;
  /// Whether a convolution by Winograd's algorithm saves more time than one transform of its filter
  /// to `layout` takes.
  bool paysTransform(mlir::exec::KernelOp convolution, mlir::RankedTensorType filter,
                     mlir::exec::PanelAttr layout) const;

  // Contractions on a GPU.
  /// The seconds that a library's product saves over a generated one.
  double savedByLibrary(mlir::Operation *contraction) const;
  /// The seconds of a kernel that copies a tensor.
  double copy(mlir::Type tensor) const;

private:
  const mlir::exec::Level &level;
};

} // namespace gradc

#endif
