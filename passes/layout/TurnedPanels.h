// Factors that a product reads across their panels or rows, which it turns into scratch memory.
#ifndef PASSES_LAYOUT_TURNEDPANELS_H
#define PASSES_LAYOUT_TURNEDPANELS_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// The rhs of a product or convolution, by its number among the kernel's operands, and its dim
/// along the lanes of the result.
struct TurnedFactor {
  unsigned operand;
  int64_t dim;
};

/// The factor that the kernel, not yet lowered to loops, turns itself if it is stored in panels
/// `stored`: if these run along another dim, and it does not stay in cache as a whole, but what a
/// column tile reads does, and there are some column tiles. None: it is read in place, and others
/// may pack it.
std::optional<TurnedFactor> turnedFactor(mlir::exec::KernelOp kernel, mlir::exec::PanelAttr stored,
                                         const mlir::exec::Level &level);
/// The same of a kernel whose operands have their layouts. Row-major matrices are turned, too, if
/// the sum runs along their rows.
std::optional<TurnedFactor> turnedFactor(mlir::exec::KernelOp kernel,
                                         const mlir::exec::Level &level);

/// The attribute of a schedule whose tiles have these columns.
mlir::exec::TurnedAttr turnedTiles(mlir::exec::KernelOp kernel, const TurnedFactor &factor,
                                   int64_t columns, const mlir::exec::Level &level);

/// Whether a factor, stored in panels `stored` or in rows, is a batch of matrices: tiles turn their
/// columns of one, instead of units those of all.
bool hasMatrices(mlir::RankedTensorType factor, mlir::exec::PanelAttr stored);
/// Whether these loops visit all rows of the root that share a turned part before the next one is
/// turned.
bool suitsTurning(mlir::exec::KernelOp kernel, const TurnedFactor &factor,
                  llvm::ArrayRef<int64_t> tile, llvm::ArrayRef<int64_t> order);

/// The part of the turned operand that lies in scratch memory at one time; null if the kernel's
/// schedule turns no operand.
mlir::RankedTensorType turnedType(mlir::exec::KernelOp kernel);
/// The bytes of its panels in scratch memory.
int64_t turnedScratch(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
