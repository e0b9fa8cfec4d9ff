// Other schedules for a kernel, to be measured.
#ifndef PASSES_SCHEDULE_SCHEDULECANDIDATES_H
#define PASSES_SCHEDULE_SCHEDULECANDIDATES_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// Variants of a CPU kernel's schedule, without that schedule itself: other register tiles, loop
/// orders, and lengths of blocks, each with enough units for several threads. Code generation may
/// still refuse one.
llvm::SmallVector<mlir::exec::ScheduleAttr> scheduleCandidates(mlir::exec::KernelOp kernel,
                                                               const mlir::exec::Level &level);

} // namespace gradc

#endif
