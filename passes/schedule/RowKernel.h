// CPU kernels whose units are whole rows along one dim of the root.
#ifndef PASSES_SCHEDULE_ROWKERNEL_H
#define PASSES_SCHEDULE_ROWKERNEL_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// The rows of a run are the outermost loop, `dim` is the innermost one. `columns`: of a tile along
/// the last dim, if that is not `dim`.
mlir::exec::ScheduleAttr scheduleRows(mlir::exec::KernelOp kernel, int64_t dim,
                                      mlir::exec::Algorithm algorithm, int64_t lanes,
                                      const mlir::exec::Level &level, int64_t columns = 1);

} // namespace gradc

#endif
