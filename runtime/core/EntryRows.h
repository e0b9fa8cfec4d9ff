// The rows of a run of an entry.
#ifndef RUNTIME_CORE_ENTRYROWS_H
#define RUNTIME_CORE_ENTRYROWS_H

#include "runtime/core/Artifact.h"
#include "runtime/ranks/Communicator.h"

#include <algorithm>
#include <cstring>

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

/// What a session passes in place of inputs of some roles.
class OwnInputs {
public:
  /// Sets the rows of the run, counted in rows of the schedule.
  void setRows(int64_t count) {
    rows = float(std::max<int64_t>(count, 1));
    rankRows = float(count);
  }
  /// `ranks`: those that share the run; null: there is one. Stays until the next call for a seed.
  const void *inPlaceOf(const void *input, uint32_t role, const Communicator *ranks) {
    if (gradc_role_counts_rows(role))
      return role == GRADC_ROLE_ROWS ? &rows : &rankRows;
    if (role != GRADC_ROLE_SEED || !ranks)
      return input;
    // Each rank numbers its rows from 0: with one seed they would draw the same.
    std::memcpy(&seed, input, sizeof seed);
    seed += uint32_t(ranks->rank()) * 0x9e3779b9u;
    return &seed;
  }

private:
  alignas(64) float rows = 0;
  alignas(64) float rankRows = 0;
  alignas(64) uint32_t seed = 0;
};

} // namespace gradc::runtime

#endif
