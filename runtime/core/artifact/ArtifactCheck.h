// Validates an artifact's bytes once, so that the rest of the runtime can read them unchecked.
#ifndef RUNTIME_CORE_ARTIFACT_ARTIFACTCHECK_H
#define RUNTIME_CORE_ARTIFACT_ARTIFACTCHECK_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <span>

namespace gradc::runtime {

/// Checks magic, version, size and hash; then every range, index, string and slice. The contents of
/// kernel images are not checked: an artifact is code, so run only artifacts that you trust.
Status checkArtifact(std::span<const std::byte> blob);

} // namespace gradc::runtime

#endif
