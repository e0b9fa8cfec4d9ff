// The factors of a product of two matrices that a thread copies into panels before it multiplies.
#ifndef PASSES_LAYOUT_FACTORPANELS_H
#define PASSES_LAYOUT_FACTORPANELS_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// The steps of a block whose factors are read once: as many rows as hardware prefetchers follow.
constexpr int64_t fewSteps = 8;

/// The units of a product in blocks whose results stay in cache from block to block; 0: all units
/// take a block together, since more tiles than those of a unit read the same operands.
int64_t unitsPerWalk(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

/// Factors that run across the sum, as [sum, row] or [sum, column], read a row of memory per step:
/// rows that are pages apart, or as many lines of one cache set. Such a factor is copied in panels
/// as wide as the register tile, with the steps of a block or of the whole sum: of several units
/// together, and of one tile of the inner loop, which all these units read before the next tile is
/// copied.
///
/// The kernel's schedule with such copies, where they pay.
mlir::exec::ScheduleAttr withPanels(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

/// The product of a kernel, before or after its lowering to loops; null: it has none. Kernels have
/// no other reduction beside a product but one of its batch, which follows it.
mlir::Operation *productOf(mlir::exec::KernelOp kernel);

/// Whether all other ops of a kernel, not yet lowered, compute element by element.
bool isPerElement(mlir::exec::KernelOp kernel, mlir::Operation *product);

/// The panels of one factor in scratch memory; null if it is read in place.
mlir::RankedTensorType panelsType(mlir::exec::KernelOp kernel, unsigned factor);
/// The first byte of a factor's panels there: those before it take whole cache lines.
int64_t panelsOffset(mlir::exec::KernelOp kernel, unsigned factor, const mlir::exec::Level &level);
/// The bytes of all panels.
int64_t panelsScratch(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

} // namespace gradc

#endif
