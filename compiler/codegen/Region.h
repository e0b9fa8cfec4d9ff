// A kernel's region of grad ops -> linalg on tensors, through the ops' own interfaces.
#ifndef COMPILER_CODEGEN_REGION_H
#define COMPILER_CODEGEN_REGION_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// Decomposes composites and lowers every op to its loops. Ops that are not grad's stay.
llvm::LogicalResult lowerRegion(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
