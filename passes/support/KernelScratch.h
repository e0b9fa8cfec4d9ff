// The memory that a thread of a CPU's kernel works in.
#ifndef PASSES_KERNELSCRATCH_H
#define PASSES_KERNELSCRATCH_H

#include "passes/support/AttentionKernel.h"
#include "passes/support/Winograd.h"

namespace gradc {

/// Bytes of it; 0 where the registers suffice. Of a scheduled kernel.
inline int64_t kernelScratch(mlir::exec::KernelOp kernel, const mlir::exec::Level &level) {
  return std::max(winogradScratch(kernel, level), attentionScratchBytes(kernel, level));
}

} // namespace gradc

#endif
