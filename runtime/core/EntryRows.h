// The rows of a run of an entry.
#ifndef RUNTIME_CORE_ENTRYROWS_H
#define RUNTIME_CORE_ENTRYROWS_H

#include "runtime/core/Artifact.h"

#include <algorithm>

namespace gradc::runtime {

/// The bytes of a port in a run of `rows` rows.
inline uint64_t bytesOfRows(const gradc_artifact_entry &entry, const gradc_artifact_port &port,
                            int64_t rows) {
  return port.batched ? port.tensor.bytes / uint64_t(entry.batch) * uint64_t(rows)
                      : port.tensor.bytes;
}

/// The samples of one row of the entry's schedule.
inline int64_t unitOf(const gradc_artifact_entry &entry) {
  return std::max<int64_t>(entry.row_unit, 1);
}

/// The entry, or the smallest of its buckets that takes `rows` rows. `entries`: the level's.
const gradc_artifact_entry &entryOfRows(const Artifact &artifact,
                                        std::span<const gradc_artifact_entry> entries,
                                        const gradc_artifact_entry &entry, int64_t rows);

/// Fails unless the entry runs on that number of rows. `isShare`: other ranks may have rows of the
/// batch, too, so that this one needs none.
Status checkRows(const Artifact &artifact, const gradc_artifact_entry &entry, int64_t rows,
                 bool isShare = false);

} // namespace gradc::runtime

#endif
