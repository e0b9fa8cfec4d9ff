// Where states lie in their block.
#include "runtime/core/state/StateStore.h"
#include "test/unit/runtime/ArtifactBuilder.h"

#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

// Ranks release parts of buffers with a cut, and a huge page with a hole stays small.
TEST(StateStore, BuffersWithACutFollowAllOthers) {
  ArtifactBuilder builder;
  std::vector<gradc_artifact_state> states(2);
  for (gradc_artifact_state &state : states) {
    state.tensor = builder.tensor("w", GRADC_F32, {100});
    state.initial = builder.put(std::vector<float>(100));
    state.initial.count = 400; // bytes
  }
  builder.header.states = builder.put(states);
  gradc_artifact_level level = {};
  level.buffers = builder.put(std::vector<gradc_artifact_buffer>{
      {0, GRADC_BUFFER_PLAIN, 400, 1, 0}, {1, GRADC_BUFFER_PLAIN, 400, 0, 0}});
  Bytes blob = builder.finish();
  auto artifact = Artifact::fromMemory(blob);
  ASSERT_TRUE(artifact) << artifact.status().message();
  auto device = createHostDevice(1);
  ASSERT_TRUE(device);
  StateStore store(**artifact, level, **device, {});
  store.layOut();
  ASSERT_GE(store.bytes(), 800u);
  std::shared_ptr<std::byte> block = (*device)->allocateShared(store.bytes());
  store.bind(block);
  EXPECT_EQ(store.buffers()[1], block.get());
  EXPECT_GE(store.buffers()[0], block.get() + 400);
  EXPECT_EQ(store.primary(0), store.buffers()[0]);
  EXPECT_EQ(store.primary(1), store.buffers()[1]);
}

} // namespace
