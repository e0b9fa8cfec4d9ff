// Evaluates kernels in f64, with a bound on the effect of rounding on each element.
#ifndef COMPILER_VERIFY_BOUNDS_H
#define COMPILER_VERIFY_BOUNDS_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// A tensor and, per element, the maximum distance of a correctly compiled program from it. Floats
/// are f64.
struct Bounded {
  mlir::grad::HostTensor value;
  /// Infinite for unknown elements: those that were not sampled, and integers that depend on
  /// rounding. Empty if every element is exact.
  std::vector<double> error;

  double errorAt(int64_t i) const { return error.empty() ? 0 : error[i]; }
};

/// Options of an evaluation.
struct EvaluationOptions {
  /// The maximum number of multiply-adds of a sum or contraction; elements of larger ones are
  /// sampled.
  int64_t maxTerms = INT64_MAX;
  /// The m of Winograd's F(m x m, 3x3) if it computes the kernel's contraction, else 0. Its
  /// transforms round relative to the largest surrounding sum.
  int64_t winogradOutputs = 0;
};

/// The operand as f64, with each element within `error` of its value.
Bounded boundedOperand(const mlir::grad::HostTensor &operand, double error = 0);

/// Runs a block of primitive ops. The bound of an element combines the rounding of each op,
/// relative to its result or to the magnitudes that it sums, and the propagated errors of the op's
/// operands.
llvm::SmallVector<Bounded> evaluateBounded(mlir::Block &block, llvm::ArrayRef<Bounded> operands,
                                           const EvaluationOptions &options);

/// The estimated time of the evaluation, in seconds, on a current CPU.
double estimateSeconds(mlir::Block &block, int64_t maxTerms);

/// Half a unit in the last place of 1; 0 for integers.
double roundoff(mlir::Type element);

} // namespace gradc

#endif
