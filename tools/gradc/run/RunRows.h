// Runs an entry on more rows than its largest batch, chunk by chunk.
#ifndef TOOLS_GRADC_RUN_RUNROWS_H
#define TOOLS_GRADC_RUN_RUNROWS_H

#include "compiler/Session.h"
#include "tools/gradc/Console.h"
#include "tools/gradc/TensorFile.h"

namespace gradc {

/// Runs an entry batch by batch, and writes one .npy per output. Rows are concatenated; gradients
/// of shared values are summed in the order of the rows (in f64, rounded once); values that are
/// equal for all rows are taken from the first run; random ops draw other numbers in each. `inputs`
/// are in the entry's order; `paths` contains the files.
Status runRows(mlir::MLIRContext &context, CompiledSession &session, uint32_t entry, int64_t rows,
               llvm::ArrayRef<TensorView> inputs, llvm::ArrayRef<std::string> paths);

/// The bytes of memory that such a run takes besides the program itself, for any number of rows.
int64_t memoryOfRun(mlir::MLIRContext &context, CompiledSession &session, uint32_t entry);

} // namespace gradc

#endif
