// Checks compiled code: kernels against the evaluator, gradients against differences.
#ifndef COMPILER_VERIFY_VERIFY_H
#define COMPILER_VERIFY_VERIFY_H

#include "compiler/Compiler.h"

namespace gradc {

/// One kernel: its worst element over all its launches, by error / limit. `entry` is empty if
/// control flow reached none.
struct KernelCheck {
  std::string level, kernel, entry, node;
  double error = 0; ///< |found - expected|
  double limit = 0; ///< what rounding explains
  bool ok = true;
  /// The number of result elements that were compared, and of all result elements.
  int64_t compared = 0, elements = 0;
};

/// One parameter, or several together: the derivative along a direction in f64, computed in both
/// ways.
struct GradientCheck {
  std::string parameter;
  double gradient = 0, difference = 0;
  bool ok = true;
  /// False if the loss has kinks in all tried directions; the result is then unknown.
  bool isDecided = true;
};

/// Runs every entry of every level of the program, launch by launch, and compares each result with
/// the kernel's region evaluated on the same operands. This machine must execute all the levels.
/// Sums are sampled so that evaluation takes about `seconds` on a current CPU.
llvm::Expected<std::vector<KernelCheck>> verifyKernels(PlannedProgram &program,
                                                       const std::string &artifact, double seconds);

/// The training entries whose gradients together are those of the job.
std::vector<std::string> entriesWithGradients(const Imported &imported);

/// Compiles a training entry's gradients in f64, and compares them with central differences of the
/// loss, parameter by parameter; parameters left after `seconds` are compared together. The f64
/// kernels are verified as well, in the same amount of time, and reported through `kernels`. For
/// tests only: the gradient of parameter `corrupted` is made wrong by one in a thousand.
mlir::FailureOr<std::vector<GradientCheck>>
verifyGradients(const Imported &imported, llvm::StringRef entry, llvm::StringRef corrupted,
                double seconds, std::vector<KernelCheck> &kernels);

} // namespace gradc

#endif
