// Indices that a model computes are looked at when a run has ended: its kernels read and write
// nothing out of range, and the largest index of each node, as an unsigned number, tells whether
// one was.
#ifndef RUNTIME_CORE_INDEXCHECK_H
#define RUNTIME_CORE_INDEXCHECK_H

#include "runtime/core/Artifact.h"

#include <span>
#include <string_view>

namespace gradc::runtime {

/// Whether callers pass a buffer for an entry's result; the others are the runtime's own.
inline bool isGiven(const gradc_artifact_port &output) { return output.role != GRADC_ROLE_INDICES; }
/// Of an entry's results.
size_t countGiven(std::span<const gradc_artifact_port> outputs);
/// That one of them, or null.
const gradc_artifact_port *findGiven(std::span<const gradc_artifact_port> outputs, size_t index);

/// Fails with node, index and limit if `value`, a result of role INDICES, says that an index was
/// out of range.
Status checkIndices(std::string_view node, int64_t limit, uint64_t value);
/// The same for all such results of an entry, in their order.
Status checkIndices(const Artifact &artifact, const gradc_artifact_entry &entry,
                    std::span<const uint64_t> values);

} // namespace gradc::runtime

#endif
