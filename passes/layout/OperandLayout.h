// The memory layout that a kernel prefers for an operand.
#ifndef PASSES_LAYOUT_OPERANDLAYOUT_H
#define PASSES_LAYOUT_OPERANDLAYOUT_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"

namespace gradc {

/// The panel layout of `operand` if the vectors of the kernel's contraction are loaded from it, or
/// if it scales the products of a batch that the kernel sums; null: row-major suffices. Factors of
/// dot products whose sum runs across rows also need panels of pairs.
mlir::exec::PanelAttr wantedLayout(mlir::exec::KernelOp kernel, unsigned operand,
                                   const mlir::exec::Level &level);

/// Whether that layout is one for dot products: of pairs, or rows for AMX.
bool servesDots(mlir::exec::KernelOp kernel, unsigned operand, const mlir::exec::Level &level);

/// `wanted` with nibbles in place of bytes, for an operand whose elements all fit in them; null:
/// the kernel takes bytes alone.
mlir::exec::PanelAttr nibblesOf(mlir::exec::KernelOp kernel, unsigned operand,
                                mlir::exec::PanelAttr wanted);

/// The layout in which a reshape shows a tensor that is stored in `layout`, if the same bytes are
/// panels again: those along the last dim, which stays as it is. Null: row-major, or another order.
mlir::exec::PanelAttr layoutOfView(mlir::exec::PanelAttr layout, mlir::RankedTensorType from,
                                   mlir::RankedTensorType to);

} // namespace gradc

#endif
