// Selects the convolutions that Winograd's F(2x2, 3x3) computes.
#ifndef PASSES_WINOGRAD_H
#define PASSES_WINOGRAD_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"

namespace gradc {

/// Number of values in one transformed window of F(2x2, 3x3).
constexpr int64_t winogradSlots = 16;
/// Input channels per unit of a filter gradient, at least.
constexpr int64_t winogradGradientChannels = 16;

/// Whether the contraction of a kernel is a suitable 3x3 convolution (or the gradient of its
/// input): pictures have even sizes or padding, channels fill whole vectors and panels and reach
/// the level's min, and nothing else in the kernel has another shape.
bool suitsWinograd(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

/// The same for the gradient of a 3x3 filter.
bool suitsWinogradGradient(mlir::grad::ContractionOpInterface op, const mlir::exec::Level &level);

/// Elements of one slot of transformed windows, [rows][channels], plus a cache line of padding, so
/// that slots do not map to the same cache sets.
int64_t winogradSlotElements(int64_t rows, int64_t channels, const mlir::exec::Level &level);
/// Scratch bytes per thread for the transformed windows of a scheduled kernel; 0 if it transforms
/// none.
int64_t winogradScratch(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

} // namespace gradc

#endif
