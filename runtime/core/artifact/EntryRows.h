// The number of rows in a run of an entry.
#ifndef RUNTIME_CORE_ARTIFACT_ENTRYROWS_H
#define RUNTIME_CORE_ARTIFACT_ENTRYROWS_H

#include "runtime/core/artifact/Artifact.h"
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

/// The entry's smallest bucket for `rows` rows, or the entry itself. `entries`: the level's.
const gradc_artifact_entry &entryOfRows(const Artifact &artifact,
                                        std::span<const gradc_artifact_entry> entries,
                                        const gradc_artifact_entry &entry, int64_t rows);

/// The entry whose nodes a run of this one executes, perhaps once for each row.
const gradc_artifact_entry &scheduleOf(const Artifact &artifact,
                                       std::span<const gradc_artifact_entry> entries,
                                       const gradc_artifact_entry &entry);

/// Fails unless as many inputs or outputs are given as the entry has.
Status checkCount(const Artifact &artifact, const gradc_artifact_entry &entry, const char *what,
                  size_t expected, size_t found);

/// Fails unless the entry can run on that number of rows. `isShare`: other ranks have rows of the
/// same batch, so this rank may have none.
Status checkRows(const Artifact &artifact, const gradc_artifact_entry &entry, int64_t rows,
                 bool isShare = false);

/// The inputs that a session supplies itself, by their roles.
class OwnInputs {
public:
  /// Sets the rows of the run, counted in rows of the schedule.
  void setRows(int64_t count) {
    rows = float(std::max<int64_t>(count, 1));
    rankRows = float(count);
  }
  /// Returns the session's value for an input of that role, else `input`. `ranks`: the ranks that
  /// share the run; null for a single process. A seed is valid until the next call for a seed.
  const void *inPlaceOf(const void *input, uint32_t role, const Communicator *ranks) {
    if (gradc_role_counts_rows(role))
      return role == GRADC_ROLE_ROWS ? &rows : &rankRows;
    if (role != GRADC_ROLE_SEED || !ranks)
      return input;
    // Each replica of the model numbers its rows from 0, so with one seed all would draw the same
    // numbers. The ranks of one replica have the same rows.
    std::memcpy(&seed, input, sizeof seed);
    seed += uint32_t(ranks->replica()) * 0x9e3779b9u;
    return &seed;
  }

private:
  alignas(64) float rows = 0;
  alignas(64) float rankRows = 0;
  alignas(64) uint32_t seed = 0;
};

} // namespace gradc::runtime

#endif
