// Creates the planned form of a function: an entry with the function's ports.
#ifndef PASSES_ENTRY_PLANNEDENTRY_H
#define PASSES_ENTRY_PLANNEDENTRY_H

#include "dialects/exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// Creates an entry in place of a function, with a body that is still empty. `slices`: the places
/// of the results, or none.
mlir::exec::EntryOp createEntry(mlir::OpBuilder &builder, mlir::func::FuncOp function,
                                int64_t arena, llvm::ArrayRef<mlir::exec::SliceAttr> slices = {});

} // namespace gradc

#endif
