// The cost model: what flops and bytes take on a level. Passes ask it instead of
// having rates of their own.
#ifndef PASSES_COSTMODEL_H
#define PASSES_COSTMODEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// Seconds of some work on one core of a CPU or on a whole GPU.
struct Cost {
  double arithmetic = 0, traffic = 0;
};

class CostModel {
public:
  explicit CostModel(const mlir::exec::Level &level) : level(level) {}

  /// A kernel's generated code, from its `flops` and `bytes`.
  Cost kernel(mlir::exec::KernelOp kernel) const;
  /// The least that any code takes, whatever else it does.
  double floor(int64_t flops, int64_t bytes) const;
  /// Whether a kernel runs no longer than its launch.
  bool isSmall(mlir::exec::KernelOp kernel) const;
  /// The units of a kernel, of `units` in all, that are worth another thread of a CPU's team.
  int64_t grain(mlir::exec::KernelOp kernel, int64_t units) const;

  /// Whether a product of bf16 pairs saves the time of packing its factors of these types.
  bool paysPacking(mlir::exec::KernelOp product, llvm::ArrayRef<mlir::Type> factors) const;

  // Contractions on a GPU.
  /// The seconds that a library's product saves over a generated one.
  double savedByLibrary(mlir::Operation *contraction) const;
  /// A kernel that copies a tensor.
  double copy(mlir::Type tensor) const;

private:
  const mlir::exec::Level &level;
};

} // namespace gradc

#endif
