// The scratch memory of non-maximum suppressions that one CPU kernel computes.
#ifndef PASSES_SCHEDULE_SUPPRESSIONKERNEL_H
#define PASSES_SCHEDULE_SUPPRESSIONKERNEL_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// The boxes that are kept lie in a thread's scratch memory: five tensors of their sides and areas,
/// each of whole vectors and aligned to a cache line.
int64_t suppressionPieceBytes(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
