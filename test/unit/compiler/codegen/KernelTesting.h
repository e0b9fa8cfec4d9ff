// Shared by all runners of single kernels.
#ifndef TEST_UNIT_COMPILER_CODEGEN_KERNELTESTING_H
#define TEST_UNIT_COMPILER_CODEGEN_KERNELTESTING_H

#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"

#include <vector>

namespace gradc::test {

/// The dialects of kernels before and after their lowering to loops.
mlir::DialectRegistry kernelDialects();

/// Floats in [-2, 2), integers below 7, and bools.
std::vector<mlir::grad::HostTensor> randomOperands(mlir::exec::KernelOp kernel, unsigned seed);

} // namespace gradc::test

#endif
