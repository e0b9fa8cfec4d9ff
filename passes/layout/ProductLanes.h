// The dims of a product along which vectors run.
#ifndef PASSES_LAYOUT_PRODUCTLANES_H
#define PASSES_LAYOUT_PRODUCTLANES_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"

namespace gradc {

/// The contraction of a kernel that has not been lowered; null: it has none.
mlir::grad::ContractionOpInterface contractionOf(mlir::exec::KernelOp kernel);
/// Operand `i` of the contraction, if it is an operand of the kernel that nothing else there reads.
mlir::BlockArgument factorOf(mlir::grad::ContractionOpInterface contraction, unsigned i);

/// The dim of a contraction's rhs that runs along the result's last one: the lanes.
std::optional<int64_t> laneDim(mlir::grad::ContractionOpInterface op);

/// The dim of the root along which vectors run in a product with fewer columns than half a vector,
/// where they have fewer idle lanes than along its columns: its rows. Those of a single column are
/// adjacent in memory, also behind dims of one element. None: vectors run along the last dim.
std::optional<int64_t> rowsOfFewColumns(mlir::exec::KernelOp kernel,
                                        const mlir::exec::Level &level);

/// Results of a product that are summed along the lanes together: each has a vector of partial sums
/// in registers, beside those of the factors.
int64_t maxLaneSums(const mlir::exec::Level &level);
/// Independent chains of each such sum, if there are registers left; 0 without them.
int64_t laneSumChains(mlir::exec::ScheduleAttr schedule, const mlir::exec::Level &level);
/// The dim of a product's rhs along the result's columns, if the rhs is a matrix, or a batch of
/// matrices, with the sum along its rows; none for others.
std::optional<int64_t> columnsOfSummedRows(mlir::grad::ContractionOpInterface op);
/// The rows of a product's result; of a batch, those of one matrix.
int64_t rowsOfMatrix(mlir::grad::ContractionOpInterface op);
/// Whether a product has so few rows, and both factors are row-major along its sum, that results
/// are summed along the lanes.
bool suitsLaneSums(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);
/// The same for a product with a single column: its lhs is row-major along the sum.
bool suitsLaneSumsOfColumn(mlir::grad::ContractionOpInterface op, int64_t lanes);

} // namespace gradc

#endif
