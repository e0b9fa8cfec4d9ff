// Checks compiled code: kernel by kernel against the evaluator, gradients against differences.
#ifndef COMPILER_VERIFY_H
#define COMPILER_VERIFY_H

#include "compiler/Compiler.h"

namespace gradc {

/// One kernel: its worst error over all of its launches.
struct KernelCheck {
  std::string level, kernel, entry, node;
  double error = 0; ///< of the worst element, relative to the largest of its tensor
  bool ok = true;
};

/// One parameter: its directional derivative in f64, computed both ways.
struct GradientCheck {
  std::string parameter;
  double gradient = 0, difference = 0;
  bool ok = true;
};

/// Runs every entry of every level of the program, launch by launch, and compares each result with
/// the kernel's region evaluated on the same operands. This machine must execute all the levels.
llvm::Expected<std::vector<KernelCheck>> verifyKernels(PlannedProgram &program,
                                                       const std::string &artifact);

/// Compiles the training entry's gradients in f64 and compares them with central differences of the
/// loss along a random direction, parameter by parameter. The f64 kernels are verified as well and
/// reported through `kernels`.
mlir::FailureOr<std::vector<GradientCheck>> verifyGradients(const Imported &imported,
                                                            std::vector<KernelCheck> &kernels);

} // namespace gradc

#endif
