// Checks indices that a model computes after a run. Kernels never access memory out of range; for
// each node they return the largest index, as an unsigned number, which shows whether any index was
// out of range.
#ifndef RUNTIME_CORE_ARTIFACT_INDEXCHECK_H
#define RUNTIME_CORE_ARTIFACT_INDEXCHECK_H

#include "runtime/core/artifact/Artifact.h"

#include <span>
#include <string_view>

namespace gradc::runtime {

/// Whether callers pass a buffer for an entry's result; all other results belong to the runtime.
inline bool isGiven(const gradc_artifact_port &output) { return output.role != GRADC_ROLE_INDICES; }
/// The number of such results.
size_t countGiven(std::span<const gradc_artifact_port> outputs);
/// The `index`-th such result, or null.
const gradc_artifact_port *findGiven(std::span<const gradc_artifact_port> outputs, size_t index);

/// Fails with node, index and limit if `value`, a result of role INDICES, says that an index was
/// out of range.
Status checkIndices(std::string_view node, int64_t limit, uint64_t value);
/// Checks all results of role INDICES of an entry, in order.
Status checkIndices(const Artifact &artifact, const gradc_artifact_entry &entry,
                    std::span<const uint64_t> values);

} // namespace gradc::runtime

#endif
