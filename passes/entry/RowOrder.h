// Puts the rows of a batch in front of the dims that reshapes merge with them.
#ifndef PASSES_ENTRY_ROWORDER_H
#define PASSES_ENTRY_ROWORDER_H

#include "passes/entry/Extents.h"

namespace gradc {

/// A linear layer over steps and rows, [T, N, E], merges these: a run of n rows would use elements
/// all over [T * N, E]. Every dim that `analysis` has found to be [outer, rows, k] gets the order
/// [rows, outer, k], so that a run uses its first elements. Ops take these elements one by one, so
/// only the reshapes that merge or split the dim change: they transpose. `analysis` follows inner
/// rows and knows the extents of all values. Changes nothing if an op needs the order, or a reshape
/// divides `outer` in a way that no single transpose follows.
void putRowsFirst(mlir::func::FuncOp function, const ExtentAnalysis &analysis);

} // namespace gradc

#endif
