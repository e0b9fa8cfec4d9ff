// Runs an entry on more rows than its largest batch, chunk by chunk.
#ifndef TOOLS_GRADC_RUNROWS_H
#define TOOLS_GRADC_RUNROWS_H

#include "compiler/Session.h"
#include "tools/gradc/Console.h"
#include "tools/gradc/TensorFile.h"

namespace gradc {

/// Writes an entry's results, one .npy an output, from runs of its batch one after the other: rows
/// one behind the other, gradients of what the rows share added up in the order of the rows (in
/// f64, rounded once), what is the same for all rows from the first run. `inputs` are in the
/// entry's order; `paths` has the files.
Status runRows(mlir::MLIRContext &context, CompiledSession &session, uint32_t entry, int64_t rows,
               llvm::ArrayRef<TensorView> inputs, llvm::ArrayRef<std::string> paths);

/// What such a run takes of memory beside the program itself, in bytes, whatever the number of
/// rows.
int64_t memoryOfRun(mlir::MLIRContext &context, CompiledSession &session, uint32_t entry);

} // namespace gradc

#endif
