// How a thread calls a CPU kernel: its scratch memory, and units per call.
#ifndef PASSES_SCHEDULE_KERNELSCRATCH_H
#define PASSES_SCHEDULE_KERNELSCRATCH_H

#include "passes/layout/FactorPanels.h"
#include "passes/layout/ScatterSums.h"
#include "passes/layout/TurnedPanels.h"
#include "passes/layout/Winograd.h"
#include "passes/schedule/OneOpKernel.h"

namespace gradc {

/// Scratch bytes per thread of a scheduled kernel, in whole cache lines; 0 if it works in registers
/// only.
inline int64_t kernelScratch(mlir::exec::KernelOp kernel, const mlir::exec::Level &level) {
  const OneOpKernel *whole = kernel.getScheduleAttr() ? oneOpKernel(kernel) : nullptr;
  int64_t bytes = std::max({whole && whole->scratchBytes ? whole->scratchBytes(kernel, level) : 0,
                            winogradScratch(kernel, level), panelsScratch(kernel, level),
                            turnedScratch(kernel), scatterScratch(kernel)});
  return llvm::alignTo(bytes, 64);
}

/// The units that take less time in one call than each in its own; 1: none.
inline int64_t unitsTogether(mlir::exec::KernelOp kernel) {
  mlir::exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  int64_t units = schedule ? schedule.getScatterUnits() : 0;
  return units ? units : winogradUnitsTogether(kernel);
}

} // namespace gradc

#endif
