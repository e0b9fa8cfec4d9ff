// Selects the convolutions that Winograd's F(2x2, 3x3) and F(4x4, 3x3) compute.
#ifndef PASSES_LAYOUT_WINOGRAD_H
#define PASSES_LAYOUT_WINOGRAD_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"

namespace gradc {

/// Input channels per unit of a filter gradient.
constexpr int64_t winogradGradientChannels = 16;
/// How many units of a scheduled kernel one call computes faster than separate calls; 1 if it
/// computes no filter gradient.
int64_t winogradUnitsTogether(mlir::exec::KernelOp kernel);
/// The same for units of `winogradGradientChannels`.
int64_t winogradUnitsOf(int64_t channels);

/// The m of F(m x m, 3x3) if the contraction of a kernel is a suitable 3x3 convolution (or the
/// gradient of its input), else 0: pictures have multiples of m or padding, channels fill whole
/// vectors and panels and reach the level's min, and nothing else in the kernel has another shape.
/// Operands may have 16 bits.
int64_t winogradOutputs(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

/// The same for the gradient of a 3x3 filter.
int64_t winogradGradientOutputs(mlir::grad::ContractionOpInterface op,
                                const mlir::exec::Level &level);

/// The operand that is a filter stored transformed, if any.
std::optional<unsigned> transformedFilter(mlir::exec::KernelOp kernel);

/// Counts the multiply-adds of a scheduled kernel by F(m x m, 3x3): (m + 2)^2 where the definition
/// has 9 m^2. Its transforms are not counted.
void countWinogradFlops(mlir::exec::KernelOp kernel);

/// Elements of one slot of transformed windows, [rows][channels], plus a cache line of padding, so
/// that slots do not map to the same cache sets.
int64_t winogradSlotElements(int64_t rows, int64_t channels, const mlir::exec::Level &level);
/// Scratch bytes per thread for the transformed windows of a scheduled kernel; 0 if it transforms
/// none.
int64_t winogradScratch(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

} // namespace gradc

#endif
