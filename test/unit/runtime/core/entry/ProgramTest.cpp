// Bound entries: a launch waits only if it touches what an earlier one wrote, or writes what an
// earlier one touched.
#include "runtime/core/entry/Program.h"
#include "test/unit/runtime/ArtifactBuilder.h"

#include <gtest/gtest.h>

#include <atomic>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

gradc_artifact_slice arena(uint64_t offset, uint64_t bytes = 64) {
  return {GRADC_SPACE_ARENA, 0, offset, bytes, GRADC_F32, 0, {}};
}
gradc_artifact_slice buffer(uint32_t index) {
  return {GRADC_SPACE_BUFFER, index, 0, 64, GRADC_F32, 0, {}};
}

struct LaunchSpec {
  bool splits;
  std::vector<gradc_artifact_slice> reads, writes;
};

/// Which launches wait, as a string of '.' and 'w'.
std::string waitsOf(const std::vector<LaunchSpec> &specs) {
  ArtifactBuilder builder;
  gradc_artifact_kernel single = {}, split = {};
  single.units = split.units = 8;
  single.grain = 8;
  split.grain = 1;
  gradc_artifact_level level = {};
  level.kernels = builder.put(std::vector<gradc_artifact_kernel>{single, split});
  level.buffers = builder.put(std::vector<gradc_artifact_buffer>(2));
  std::vector<gradc_artifact_node> launches;
  for (const LaunchSpec &spec : specs) {
    gradc_artifact_node launch = {};
    launch.end = uint32_t(launches.size() + 1);
    launch.as.launch.kernel = spec.splits ? 1 : 0;
    launch.operands = uint32_t(spec.reads.size());
    std::vector<gradc_artifact_slice> slices = spec.reads;
    slices.insert(slices.end(), spec.writes.begin(), spec.writes.end());
    launch.slices = builder.put(slices);
    launches.push_back(launch);
  }
  gradc_artifact_entry entry = {};
  entry.nodes = builder.put(launches);
  Bytes blob = builder.finish();
  auto artifact = Artifact::fromMemory(blob);
  EXPECT_TRUE(artifact) << artifact.status().message();
  auto device = createHostDevice(1);
  std::byte memory[1024], *buffers[] = {memory, memory + 512};
  void *kernels[] = {nullptr, nullptr};
  Program program(**artifact, level, entry, {memory, buffers, kernels}, **device);
  std::string waits;
  for (const Launch &launch : program.schedule().launches)
    waits += launch.waits ? 'w' : '.';
  return waits;
}

TEST(Program, ReadersWaitForWriters) {
  EXPECT_EQ(waitsOf({{true, {}, {arena(0)}}, {true, {arena(0)}, {arena(64)}}}), ".w");
  EXPECT_EQ(waitsOf({{true, {}, {arena(0)}}, {true, {arena(64)}, {arena(128)}}}), "..");
  EXPECT_EQ(waitsOf({{true, {}, {arena(0, 128)}}, {true, {arena(64)}, {arena(128)}}}), ".w");
}

TEST(Program, WritersWaitForReadersAndWriters) {
  EXPECT_EQ(waitsOf({{true, {arena(0)}, {arena(64)}}, {true, {}, {arena(0)}}}), ".w");
  EXPECT_EQ(waitsOf({{true, {}, {arena(0)}}, {true, {}, {arena(0)}}}), ".w");
  EXPECT_EQ(waitsOf({{true, {arena(0)}, {arena(64)}}, {true, {arena(0)}, {arena(128)}}}), "..");
}

TEST(Program, BuffersAreApart) {
  EXPECT_EQ(waitsOf({{true, {}, {buffer(0)}}, {true, {buffer(1)}, {arena(0)}}}), "..");
  EXPECT_EQ(waitsOf({{true, {}, {buffer(1)}}, {true, {buffer(1)}, {arena(0)}}}), ".w");
  EXPECT_EQ(waitsOf({{true, {}, {buffer(0)}}, {true, {arena(0)}, {arena(64)}}}), "..");
}

TEST(Program, UnsplitLaunchesNeverWaitForEachOther) {
  EXPECT_EQ(waitsOf({{false, {}, {arena(0)}}, {false, {arena(0)}, {arena(0)}}}), "..");
  EXPECT_EQ(waitsOf({{false, {}, {arena(0)}}, {true, {arena(0)}, {arena(64)}}}), ".w");
  EXPECT_EQ(waitsOf({{true, {}, {arena(0)}}, {false, {arena(0)}, {arena(64)}}}), ".w");
}

TEST(Program, OneWaitCoversAllThatCameBefore) {
  EXPECT_EQ(waitsOf({{true, {}, {arena(0)}},
                     {true, {}, {arena(64)}},
                     {true, {arena(0)}, {arena(128)}},
                     {true, {arena(64)}, {arena(192)}},
                     {true, {arena(192)}, {}}}),
            "..w.w");
}

/// The number of bytes allocated for the results of an entry with two results of 100 bytes: one in
/// `space`, and one that is the entry's input.
size_t outputBytesOf(gradc_space space) {
  ArtifactBuilder builder;
  gradc_artifact_level level = {};
  gradc_artifact_port computed = {}, given = {};
  computed.tensor.bytes = given.tensor.bytes = 100;
  computed.slice = {uint32_t(space), 0, 0, 100, GRADC_F32, 0, {}};
  given.slice = {GRADC_SPACE_INPUT, 0, 0, 100, GRADC_F32, 0, {}};
  gradc_artifact_entry entry = {};
  entry.inputs = builder.put(std::vector<gradc_artifact_port>{given});
  entry.outputs = builder.put(std::vector<gradc_artifact_port>{computed, given});
  Bytes blob = builder.finish();
  auto artifact = Artifact::fromMemory(blob);
  EXPECT_TRUE(artifact) << artifact.status().message();
  auto device = createHostDevice(1);
  std::byte memory[128];
  Program program(**artifact, level, entry, {memory, {}, {}}, **device);
  EXPECT_TRUE(program.ok());
  EXPECT_EQ(program.outputBlock().empty(), !program.outputBlock().data());
  return program.outputBlock().size();
}

TEST(Program, OnlyResultsInTheOutputSpaceTakeMemory) {
  EXPECT_EQ(outputBytesOf(GRADC_SPACE_OUTPUT), 128u);
  EXPECT_EQ(outputBytesOf(GRADC_SPACE_ARENA), 0u);
}

/// Two threads share the 8 units of a kernel, in 100 runs: counts its calls with exactly `units`.
int64_t countCallsOf(int64_t units, int64_t together) {
  static std::atomic<int64_t> wanted, calls;
  wanted = units;
  calls = 0;
  auto kernel = +[](void *const *, int64_t begin, int64_t end, int64_t, void *) {
    calls += end - begin == wanted;
  };
  ArtifactBuilder builder;
  gradc_artifact_kernel described = {};
  described.units = 8;
  described.grain = 1;
  described.together = uint16_t(together);
  gradc_artifact_level level = {};
  level.kernels = builder.put(std::vector<gradc_artifact_kernel>{described});
  gradc_artifact_node launch = {};
  launch.end = 1;
  gradc_artifact_entry entry = {};
  entry.nodes = builder.put(std::vector<gradc_artifact_node>{launch});
  Bytes blob = builder.finish();
  auto artifact = Artifact::fromMemory(blob);
  EXPECT_TRUE(artifact) << artifact.status().message();
  auto device = createHostDevice(2);
  std::byte memory[64];
  void *kernels[] = {reinterpret_cast<void *>(kernel)};
  Program program(**artifact, level, entry, {memory, {}, kernels}, **device);
  for (int run = 0; run < 100; ++run)
    EXPECT_TRUE((*device)->launch(program.schedule(), nullptr).ok());
  return calls;
}

TEST(Program, ThreadsTakeUnitsTogetherThatAreFasterInOneCall) {
  EXPECT_EQ(countCallsOf(3, /*together=*/0) + countCallsOf(4, 0), 0);
  EXPECT_GT(countCallsOf(3, /*together=*/3), 0);
  EXPECT_GT(countCallsOf(4, /*together=*/4), 0);
}

} // namespace
