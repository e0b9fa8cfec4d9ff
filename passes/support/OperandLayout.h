// How a kernel wants an operand to lie in memory.
#ifndef PASSES_OPERANDLAYOUT_H
#define PASSES_OPERANDLAYOUT_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// The panels that the vectors of a kernel's contraction come from, where `operand` is their
/// tensor; null: row-major will do. Factors of dot products that run across the sum are wanted in
/// pairs, too.
mlir::exec::PanelAttr wantedLayout(mlir::exec::KernelOp kernel, unsigned operand,
                                   const mlir::exec::Level &level);

} // namespace gradc

#endif
