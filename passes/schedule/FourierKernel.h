// Fourier transforms that one CPU kernel computes: their butterflies and scratch memory.
#ifndef PASSES_SCHEDULE_FOURIERKERNEL_H
#define PASSES_SCHEDULE_FOURIERKERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"

namespace gradc {

/// The lanes of a vector are rows. A row is copied to scratch memory, each number to the place
/// where the butterflies, from neighbours to numbers far apart, leave the results in order. Real
/// rows are transformed as half as many complex numbers: the even ones are the real parts.
struct FourierPlan {
  explicit FourierPlan(mlir::grad::FourierOp op);
  /// Of a kernel that is one transform; none for other kernels.
  static std::optional<FourierPlan> of(mlir::exec::KernelOp kernel);

  bool isInverse, isFromReal, isToReal;
  int64_t numbers; ///< complex numbers that the butterflies transform

  /// The numbers of each butterfly, from the first stage to the last.
  llvm::SmallVector<int64_t> factors(const mlir::exec::Level &level) const;
  /// Where a row's numbers go, for butterflies of these factors.
  llvm::SmallVector<int64_t> places(llvm::ArrayRef<int64_t> factors) const;
  /// Numbers of a row in scratch memory: those of the butterflies and, if one side is real, one
  /// more, and the half spectrum behind them.
  int64_t slots() const { return isFromReal || isToReal ? 2 * spectrum() : numbers; }
  int64_t spectrum() const { return numbers + 1; } ///< the numbers of half a spectrum
};

} // namespace gradc

#endif
