// One kernel made several.
#ifndef PASSES_CUTKERNEL_H
#define PASSES_CUTKERNEL_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// Puts several kernels in the place of one, and of its `launches`: one that yields each of `cuts`,
/// values of its region of which none needs another, and at the end one for what is left, which
/// takes them as its last operands. The kernels have neither schedules nor calls.
llvm::SmallVector<mlir::exec::KernelOp> cutKernel(mlir::exec::KernelOp kernel,
                                                  llvm::ArrayRef<mlir::Value> cuts,
                                                  llvm::ArrayRef<mlir::exec::LaunchOp> launches,
                                                  mlir::SymbolTable &symbols);

} // namespace gradc

#endif
