// Kernel functions of scf, vector, arith and math -> the LLVM dialect.
#ifndef COMPILER_CODEGEN_LOWER_LOWER_H
#define COMPILER_CODEGEN_LOWER_LOWER_H

#include "mlir/Pass/PassManager.h"

namespace gradc::lower {

/// Adds the lowering of a module of kernel functions. `hasDots`: the machine adds up products of
/// bf16 pairs in one instruction.
void buildLowering(mlir::OpPassManager &pm, bool hasDots);

} // namespace gradc::lower

#endif
