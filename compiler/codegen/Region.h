// A kernel's region of grad ops -> linalg on tensors, through the ops' own interfaces.
#ifndef COMPILER_CODEGEN_REGION_H
#define COMPILER_CODEGEN_REGION_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// The same kernel with linalg ops in its region, composites decomposed, on signless integers. Ops
/// of other dialects are kept. Emits an error at an op without loops.
llvm::FailureOr<mlir::OwningOpRef<mlir::exec::KernelOp>> lowerRegion(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
