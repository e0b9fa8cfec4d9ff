// Which convolutions Winograd's F(2x2, 3x3) computes.
#ifndef PASSES_WINOGRAD_H
#define PASSES_WINOGRAD_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"

namespace gradc {

/// Numbers of one transformed window of F(2x2, 3x3).
constexpr int64_t winogradSlots = 16;
/// Input channels of one unit of a filter's gradient.
constexpr int64_t winogradGradientChannels = 16;

/// Whether the contraction of a kernel is a 3x3 convolution (or the gradient of its input) that
/// does: pictures of even size, channels in whole vectors and panels, at least the level's fewest,
/// and nothing in the kernel of another shape.
bool suitsWinograd(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

/// The same of the gradient of a 3x3 filter.
bool suitsWinogradGradient(mlir::grad::ContractionOpInterface op, const mlir::exec::Level &level);

/// Elements of one slot of transformed windows, [rows][channels]. Slots are a cache line further
/// apart than that, so that they do not fall into the same sets of a cache.
int64_t winogradSlotElements(int64_t rows, int64_t channels, const mlir::exec::Level &level);
/// Bytes of transformed windows that a thread of a scheduled kernel works in; 0 where it transforms
/// none.
int64_t winogradScratch(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

} // namespace gradc

#endif
