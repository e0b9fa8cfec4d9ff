// Kernel functions of scf, vector, arith and math -> the LLVM dialect.
#ifndef COMPILER_CODEGEN_CPU_LOWER_H
#define COMPILER_CODEGEN_CPU_LOWER_H

#include "mlir/Pass/PassManager.h"

namespace gradc::cpu {

/// Adds the lowering of a module of kernel functions.
void buildLowering(mlir::OpPassManager &pm);

} // namespace gradc::cpu

#endif
