// States of which each rank stores a shard: copies of runs, whole values through sessions of
// several ranks, and artifacts that say nonsense of them.
#include "runtime/core/artifact/Shards.h"
#include "runtime/core/Session.h"
#include "test/unit/runtime/ArtifactBuilder.h"
#include "test/unit/runtime/TestModel.h"
#include "test/unit/runtime/ThreadRanks.h"

#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

using Floats = std::vector<float>;
constexpr uint32_t unused = 2; ///< the state of the test model that no entry reads: 7, 8, 9

/// The test model, with that state in shards.
Bytes modelOf(uint64_t shards, uint64_t runs, uint64_t weightShards = 0) {
  Bytes blob = makeTestModel();
  auto *header = reinterpret_cast<gradc_artifact_header *>(blob.data());
  auto *states = reinterpret_cast<gradc_artifact_state *>(blob.data() + header->states.offset);
  states[unused].shards = shards;
  states[unused].runs = runs;
  states[1].shards = weightShards;
  states[1].runs = 1;
  sealHash(blob);
  return blob;
}

std::string errorOf(uint64_t shards, uint64_t runs, uint64_t weightShards = 0) {
  Bytes blob = modelOf(shards, runs, weightShards);
  auto artifact = Artifact::fromMemory(blob);
  return artifact ? "" : artifact.status().message();
}

TEST(Shards, AreEveryRanksPieceOfEachRun) {
  gradc_artifact_state state{};
  state.tensor.bytes = 6 * sizeof(float);
  state.shards = 2;
  state.runs = 3;
  Floats whole = {0, 1, 2, 3, 4, 5}, back(6), shard(3);
  for (uint64_t rank : {0, 1}) {
    takeShard(state, rank, std::as_bytes(std::span(whole)).data(),
              std::as_writable_bytes(std::span(shard)).data());
    EXPECT_EQ(shard, (Floats{float(rank), float(rank + 2), float(rank + 4)}));
    putShard(state, rank, std::as_bytes(std::span(shard)).data(),
             std::as_writable_bytes(std::span(back)).data());
  }
  EXPECT_EQ(back, whole);
  EXPECT_EQ(storedBytes(state), 3 * sizeof(float));
}

TEST(Shards, AreWholeValuesToCallers) {
  Bytes blob = modelOf(3, 1);
  auto artifact = Artifact::fromMemory(blob);
  ASSERT_TRUE(artifact) << artifact.status().message();
  ThreadRanks ranks(3, /*servers=*/0, /*modelRanks=*/3);
  ranks.run([&](int rank) {
    SessionOptions options{1, ""};
    options.ranks = ranks.communicator(rank);
    auto session = Session::create(*artifact, options);
    ASSERT_TRUE(session) << session.status().message();
    EXPECT_TRUE((*session)->dividesState(unused));
    Floats value(3);
    EXPECT_TRUE((*session)->readState(unused, value.data()).ok());
    EXPECT_EQ(value, (Floats{7, 8, 9}));
    // A rank keeps its own element of what it writes.
    value = Floats(3, float(rank));
    EXPECT_TRUE((*session)->writeState(unused, value.data()).ok());
    EXPECT_TRUE((*session)->readState(unused, rank == 1 ? nullptr : value.data()).ok());
    if (rank != 1) {
      EXPECT_EQ(value, (Floats{0, 1, 2}));
    }
    EXPECT_TRUE((*session)->resetStates().ok());
    EXPECT_TRUE((*session)->readState(unused, value.data()).ok());
    EXPECT_EQ(value, (Floats{7, 8, 9}));
  });
}

TEST(Shards, AreForAsManyRanks) {
  Bytes blob = modelOf(3, 1);
  auto artifact = Artifact::fromMemory(blob);
  ASSERT_TRUE(artifact) << artifact.status().message();
  auto alone = Session::create(*artifact, {1, ""});
  ASSERT_FALSE(alone);
  EXPECT_EQ(
      alone.status().message(),
      "the parameters are in shards for 3 ranks, found one process: take an artifact compiled "
      "without strategy: TENSOR, which reads the same checkpoints");
  ThreadRanks two(2, /*servers=*/0, /*modelRanks=*/2);
  SessionOptions options{1, ""};
  options.ranks = two.communicator(0);
  auto ofTwo = Session::create(*artifact, options);
  ASSERT_FALSE(ofTwo);
  EXPECT_NE(ofTwo.status().message().find("for 3 ranks, found 2 ranks"), std::string::npos);
}

TEST(Shards, DivideStatesEqually) {
  const std::string prefix = "corrupt artifact: state 2: ";
  EXPECT_EQ(errorOf(2, 1), prefix + "an impossible division into 2 shards of 1 runs");
  EXPECT_EQ(errorOf(3, 0), prefix + "an impossible division into 3 shards of 0 runs");
  EXPECT_EQ(errorOf(3, 2), prefix + "an impossible division into 3 shards of 2 runs");
  EXPECT_EQ(errorOf(5000, 1), prefix + "an impossible division into 5000 shards of 1 runs");
  EXPECT_EQ(errorOf(4, uint64_t(1) << 62),
            prefix + "an impossible division into 4 shards of 4611686018427387904 runs");
  EXPECT_EQ(errorOf(3, 1, 2), prefix + "expected a number of shards of 2, found 3");
}

} // namespace
