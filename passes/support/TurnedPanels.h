// Weights that a product reads across their panels: a thread turns what it reads into scratch
// memory.
#ifndef PASSES_TURNEDPANELS_H
#define PASSES_TURNEDPANELS_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// The rhs of a product or convolution that is stored in panels along another dim than its lanes.
/// Before the tiles of some columns, a thread copies the part of it that they read, in panels along
/// the lanes.
struct TurnedFactor {
  mlir::BlockArgument operand;
  int64_t laneDim;            ///< of the factor, along the columns of the kernel's root
  mlir::exec::PanelAttr from; ///< its layout
};

/// That of a kernel, before or after its lowering to loops; none if the kernel reads all factors as
/// they are stored, or its schedule does not allow copies.
std::optional<TurnedFactor> turnedFactor(mlir::exec::KernelOp kernel);

/// Whether it pays to let the kernel turn operand number `operand`, which it wants in panels
/// `wanted` and which is stored in panels `stored`, instead of storing turned panels elsewhere: the
/// factor does not stay in cache, so column tiles are its units, and there are some.
bool paysTurning(mlir::exec::KernelOp kernel, unsigned operand, mlir::exec::PanelAttr wanted,
                 mlir::exec::PanelAttr stored, const mlir::exec::Level &level);

/// The column tiles whose panels a thread turns together.
int64_t unitsTurnedTogether(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);
/// Their part of the factor.
mlir::RankedTensorType turnedType(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);
/// The bytes of their panels in scratch memory; 0 for other kernels.
int64_t turnedScratch(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

} // namespace gradc

#endif
