// The schedule of a GPU kernel: how thread blocks share its root space.
#ifndef PASSES_SCHEDULE_SCHEDULEBLOCKS_H
#define PASSES_SCHEDULE_SCHEDULEBLOCKS_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// Sets the kernel's `schedule` and `blocks` for a CUDA level.
void scheduleBlocks(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

} // namespace gradc

#endif
