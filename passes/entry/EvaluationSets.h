// Entries of an evaluation's sets, "evaluate.NAME".
#ifndef PASSES_ENTRY_EVALUATIONSETS_H
#define PASSES_ENTRY_EVALUATIONSETS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace gradc {

/// Whether an entry or its twin, such as "evaluate.NAME.tail", belongs to a set.
bool isOfSet(mlir::func::FuncOp function);

/// The entries of sets, and their twins, whose batches the evaluation's own entries take. It must
/// be known which entries take any number of rows.
llvm::SmallVector<mlir::func::FuncOp> servedEntriesOfSets(mlir::ModuleOp module);

} // namespace gradc

#endif
