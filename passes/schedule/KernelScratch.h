// The scratch memory of a thread in a CPU kernel.
#ifndef PASSES_SCHEDULE_KERNELSCRATCH_H
#define PASSES_SCHEDULE_KERNELSCRATCH_H

#include "passes/layout/FactorPanels.h"
#include "passes/layout/TurnedPanels.h"
#include "passes/layout/Winograd.h"
#include "passes/schedule/AttentionKernel.h"

namespace gradc {

/// Scratch bytes per thread of a scheduled kernel; 0 if it works in registers only.
inline int64_t kernelScratch(mlir::exec::KernelOp kernel, const mlir::exec::Level &level) {
  return std::max({winogradScratch(kernel, level), attentionScratchBytes(kernel, level),
                   panelsScratch(kernel, level), turnedScratch(kernel)});
}

} // namespace gradc

#endif
