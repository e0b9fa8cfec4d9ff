// Kernel functions of scf, vector, arith and math -> the LLVM dialect.
#ifndef COMPILER_CODEGEN_LOWER_LOWER_H
#define COMPILER_CODEGEN_LOWER_LOWER_H

#include "mlir/Pass/PassManager.h"

namespace gradc::lower {

/// Extensions of the instruction set that the lowering may use.
struct Instructions {
  bool roundBf16 = false; ///< AVX512_BF16
  bool scale = false;     ///< vectors by powers of two, AVX-512
};

/// Adds the lowering of a module of kernel functions.
void buildLowering(mlir::OpPassManager &pm, Instructions instructions);

} // namespace gradc::lower

#endif
