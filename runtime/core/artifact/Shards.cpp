// A shard is one piece of each run of the whole value.
#include "runtime/core/artifact/Shards.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <cstring>

namespace gradc::runtime {

/// Calls copy(offset in the shard, offset in the whole value, bytes) for each run.
template <typename Copy>
static void forEachRun(const gradc_artifact_state &state, uint64_t rank, Copy copy) {
  uint64_t piece = state.tensor.bytes / (state.runs * state.shards);
  for (uint64_t run = 0; run < state.runs; ++run)
    copy(run * piece, (run * state.shards + rank) * piece, piece);
}

void takeShard(const gradc_artifact_state &state, uint64_t rank, const std::byte *whole,
               std::byte *shard) {
  forEachRun(state, rank, [&](uint64_t in, uint64_t of, uint64_t bytes) {
    std::memcpy(shard + in, whole + of, bytes);
  });
}

void putShard(const gradc_artifact_state &state, uint64_t rank, const std::byte *shard,
              std::byte *whole) {
  forEachRun(state, rank, [&](uint64_t in, uint64_t of, uint64_t bytes) {
    std::memcpy(whole + of, shard + in, bytes);
  });
}

uint64_t shardsOf(const Artifact &artifact) {
  uint64_t shards = 1;
  for (const gradc_artifact_state &state : artifact.states())
    shards = std::max(shards, state.shards);
  return shards;
}

Status expectShards(const Artifact &artifact, const Communicator *ranks) {
  uint64_t shards = shardsOf(artifact), found = ranks ? uint64_t(ranks->modelRanks()) : 1;
  if (shards == 1 || found == shards)
    return {};
  return Status::invalid(text("the parameters are in shards for ", shards, " ranks, found ",
                              found == 1 ? "one process" : text(found, " ranks"),
                              ": take an artifact compiled without strategy: TENSOR, which reads "
                              "the same checkpoints"));
}

} // namespace gradc::runtime
