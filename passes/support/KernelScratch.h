// The scratch memory of a thread in a CPU kernel.
#ifndef PASSES_SUPPORT_KERNELSCRATCH_H
#define PASSES_SUPPORT_KERNELSCRATCH_H

#include "passes/support/AttentionKernel.h"
#include "passes/support/FactorPanels.h"
#include "passes/support/TurnedPanels.h"
#include "passes/support/Winograd.h"

namespace gradc {

/// Scratch bytes per thread of a scheduled kernel; 0 if it works in registers only.
inline int64_t kernelScratch(mlir::exec::KernelOp kernel, const mlir::exec::Level &level) {
  return std::max({winogradScratch(kernel, level), attentionScratchBytes(kernel, level),
                   panelsScratch(kernel, level), turnedScratch(kernel)});
}

} // namespace gradc

#endif
