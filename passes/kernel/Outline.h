// Outlines ops of a block or of another kernel into a new kernel.
#ifndef PASSES_KERNEL_OUTLINE_H
#define PASSES_KERNEL_OUTLINE_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// A kernel outside any module with copies of `ops` (in program order), from `operands` to
/// `results`. Its name describes its computation.
mlir::exec::KernelOp outlineKernel(llvm::ArrayRef<mlir::Operation *> ops,
                                   llvm::ArrayRef<mlir::Value> operands,
                                   llvm::ArrayRef<mlir::Value> results);

/// Adds the names of the source nodes of some ops, in order, without repetition.
void collectNodes(mlir::Location location, llvm::SmallVectorImpl<mlir::Attribute> &nodes);

} // namespace gradc

#endif
