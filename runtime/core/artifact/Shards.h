// States of which each rank stores a shard.
#ifndef RUNTIME_CORE_ARTIFACT_SHARDS_H
#define RUNTIME_CORE_ARTIFACT_SHARDS_H

#include "runtime/core/artifact/Artifact.h"
#include "runtime/ranks/Communicator.h"

namespace gradc::runtime {

inline bool isSharded(const gradc_artifact_state &state) { return state.shards > 1; }

/// The bytes that one rank stores, row-major.
inline uint64_t storedBytes(const gradc_artifact_state &state) {
  return isSharded(state) ? state.tensor.bytes / state.shards : state.tensor.bytes;
}

/// Copies a rank's shard out of the whole value, or back into it.
void takeShard(const gradc_artifact_state &state, uint64_t rank, const std::byte *whole,
               std::byte *shard);
void putShard(const gradc_artifact_state &state, uint64_t rank, const std::byte *shard,
              std::byte *whole);

/// The number of ranks that the artifact's shards are for; 1: no state is sharded.
uint64_t shardsOf(const Artifact &artifact);
/// Fails unless there are that many ranks; null: one process.
Status expectShards(const Artifact &artifact, const Communicator *ranks);

} // namespace gradc::runtime

#endif
