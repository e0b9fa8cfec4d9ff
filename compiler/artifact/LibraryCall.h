// The artifact's record of a library call.
#ifndef COMPILER_ARTIFACT_LIBRARYCALL_H
#define COMPILER_ARTIFACT_LIBRARYCALL_H

#include "dialects/exec/Exec.h"
#include "runtime/include/gradc/artifact.h"

namespace gradc {

/// The call that may replace a kernel with a `library` attribute.
gradc_artifact_call libraryCall(mlir::exec::KernelOp op);

} // namespace gradc

#endif
