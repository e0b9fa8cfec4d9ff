// Ops that walk their operands in blocks.
#ifndef PASSES_KERNEL_BLOCKWALKS_H
#define PASSES_KERNEL_BLOCKWALKS_H

#include "dialects/exec/Level.h"

namespace gradc {

/// Whether an op walks its operands in blocks and therefore is its own kernel: an attention, or a
/// contraction whose tiles would each stream whole operands at a cache line or more per step (a
/// filter gradient). A contraction in a kernel does so only if the kernel returns its sums as they
/// are.
bool walksBlocks(mlir::Operation *op, const mlir::exec::KernelLimits &limits);

} // namespace gradc

#endif
