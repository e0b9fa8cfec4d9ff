// Checks an artifact's bytes once, so that the rest of the runtime reads them without checks.
#ifndef RUNTIME_CORE_ARTIFACTCHECK_H
#define RUNTIME_CORE_ARTIFACTCHECK_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <span>

namespace gradc::runtime {

/// Magic, version, size, hash; then every range, index, string and slice. What the kernel images
/// contain is not checked: an artifact is code, run only those that you trust.
Status checkArtifact(std::span<const std::byte> blob);

} // namespace gradc::runtime

#endif
