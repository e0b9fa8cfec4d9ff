// Kernels evaluated in f64, with a bound on what rounding may do to each element.
#ifndef COMPILER_VERIFY_BOUNDS_H
#define COMPILER_VERIFY_BOUNDS_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// A tensor and, per element, how far a correctly compiled program may be from it. Floats are f64.
struct Bounded {
  mlir::grad::HostTensor value;
  /// Infinite where the element is not known: it was not sampled, or it is an integer that rounding
  /// decides. Of size 0 where every element is exact.
  std::vector<double> error;

  double errorAt(int64_t i) const { return error.empty() ? 0 : error[i]; }
};

/// Options of an evaluation.
struct EvaluationOptions {
  /// Multiply-adds that one sum or contraction may take; of a larger one, elements are sampled.
  int64_t maxTerms = INT64_MAX;
  /// The kernel's contraction is computed by Winograd's transforms, which round relative to the
  /// largest sum around.
  bool winograd = false;
};

/// The operand as f64, each element within `error` of its value.
Bounded boundedOperand(const mlir::grad::HostTensor &operand, double error = 0);

/// Runs a block of primitive ops. The bound of an element comes from the values that it is made of:
/// what each op adds by rounding, relative to its result or to the magnitudes that it sums, and
/// what it makes of its operands' errors.
llvm::SmallVector<Bounded> evaluateBounded(mlir::Block &block, llvm::ArrayRef<Bounded> operands,
                                           const EvaluationOptions &options);

/// An estimate of evaluation's time, in seconds, on one of today's CPUs.
double estimateSeconds(mlir::Block &block, int64_t maxTerms);

/// Half a unit in the last place of 1; 0 for integers.
double roundoff(mlir::Type element);

} // namespace gradc

#endif
