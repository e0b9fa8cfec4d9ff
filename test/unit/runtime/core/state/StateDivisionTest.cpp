// Which states the ranks of a pipeline divide.
#include "runtime/core/state/StateDivision.h"
#include "test/unit/runtime/ArtifactBuilder.h"
#include "test/unit/runtime/ThreadRanks.h"

#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// An entry that writes a buffer.
gradc_artifact_entry stageEntry(ArtifactBuilder &builder, std::string_view name, uint32_t buffer) {
  gradc_artifact_node node = {};
  node.kind = GRADC_NODE_COPY;
  node.end = node.operands = 1;
  gradc_artifact_slice from = {}, to = {};
  from.space = GRADC_SPACE_ARENA;
  to.space = GRADC_SPACE_BUFFER;
  to.index = buffer;
  from.bytes = to.bytes = 400;
  node.slices = builder.put(std::vector{from, to});
  gradc_artifact_entry entry = {};
  entry.name = builder.text(name);
  entry.nodes = builder.put(std::vector{node});
  return entry;
}

// The stage entries write none of the derived states, which every rank computes for itself.
TEST(StateDivision, StagesDivideNoDerivedStates) {
  ArtifactBuilder builder;
  std::vector<gradc_artifact_state> states(40);
  std::vector<gradc_artifact_buffer> buffers;
  for (uint32_t i = 0; i < states.size(); ++i) {
    states[i].tensor = builder.tensor("state", GRADC_F32, {100});
    states[i].kind = i < 2 ? GRADC_STATE_PARAMETER : GRADC_STATE_DERIVED;
    states[i].initial = builder.put(std::vector<float>(100));
    states[i].initial.count = 400; // bytes
    buffers.push_back({i, GRADC_BUFFER_PLAIN, 400, 0, 0});
  }
  builder.header.states = builder.put(states);
  gradc_artifact_level level = {};
  level.buffers = builder.put(buffers);
  level.entries = builder.put(std::vector{stageEntry(builder, "train.stage.0", 0),
                                          stageEntry(builder, "train.stage.1", 1)});
  Bytes blob = builder.finish();
  auto artifact = Artifact::fromMemory(blob);
  ASSERT_TRUE(artifact) << artifact.status().message();
  auto device = createHostDevice(1);
  ASSERT_TRUE(device);
  StateStore store(**artifact, level, **device, {});
  store.layOut();
  store.bind((*device)->allocateShared(store.bytes()));
  ThreadRanks ranks(2, /*servers=*/0, /*modelRanks=*/2);
  Division none{};
  auto divisions = divideStates(**artifact, level, store, *ranks.communicator(1), none);
  ASSERT_EQ(divisions.size(), 1u);
  for (uint32_t i = 0; i < states.size(); ++i)
    EXPECT_EQ(divisions[0]->divides(i), i < 2) << "state " << i;
}

} // namespace
