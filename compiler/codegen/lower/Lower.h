// Kernel functions of scf, vector, arith and math -> the LLVM dialect.
#ifndef COMPILER_CODEGEN_LOWER_LOWER_H
#define COMPILER_CODEGEN_LOWER_LOWER_H

#include "mlir/Pass/PassManager.h"

namespace gradc::lower {

/// Adds the lowering of a module of kernel functions. `roundsBf16`: the machine has AVX512_BF16.
void buildLowering(mlir::OpPassManager &pm, bool roundsBf16);

} // namespace gradc::lower

#endif
