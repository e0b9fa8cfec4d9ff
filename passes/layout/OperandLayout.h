// The memory layout that a kernel prefers for an operand.
#ifndef PASSES_LAYOUT_OPERANDLAYOUT_H
#define PASSES_LAYOUT_OPERANDLAYOUT_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"

namespace gradc {

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

/// The panel layout of `operand` if the vectors of the kernel's contraction are loaded from it;
/// null: row-major suffices. Factors of dot products whose sum runs across rows also need panels of
/// pairs.
mlir::exec::PanelAttr wantedLayout(mlir::exec::KernelOp kernel, unsigned operand,
                                   const mlir::exec::Level &level);

/// Whether that layout is one for dot products: of pairs, or rows for AMX.
bool servesDots(mlir::exec::KernelOp kernel, unsigned operand, const mlir::exec::Level &level);

/// The layout in which a reshape shows a tensor that is stored in `layout`, if the same bytes are
/// panels again: those along the last dim, which stays as it is. Null: row-major, or another order.
mlir::exec::PanelAttr layoutOfView(mlir::exec::PanelAttr layout, mlir::RankedTensorType from,
                                   mlir::RankedTensorType to);

} // namespace gradc

#endif
