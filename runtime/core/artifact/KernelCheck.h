// Validates the kernels of an artifact.
#ifndef RUNTIME_CORE_ARTIFACT_KERNELCHECK_H
#define RUNTIME_CORE_ARTIFACT_KERNELCHECK_H

#include "runtime/core/artifact/BlobView.h"

namespace gradc::runtime {

/// Of a run or a kernel, and the most elements of a cut. Squared, it still fits in 64 bits.
inline constexpr int64_t maxRows = int64_t(1) << 31;

/// Whether a kernel's names, units and library call are possible.
bool checkKernel(BlobView &view, const gradc_artifact_kernel &kernel);

} // namespace gradc::runtime

#endif
