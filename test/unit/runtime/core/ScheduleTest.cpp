// Schedules with control flow: equal results on any number of threads, replays by path and
// iteration, their C interface, and errors of an artifact's check for broken ones.
#include "runtime/core/NonFinite.h"
#include "runtime/core/capi/CApi.h"
#include "runtime/device/Device.h"
#include "test/unit/runtime/core/ScheduleTesting.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

constexpr int rows = 4, maxCount = 3;
using Nodes = ScheduleNodes;

/// Nodes of the entry "walk" over inputs x f32[4, 16] and count i32, as text:
///   0  loop 4 (i)
///   1    copy x[i] -> a
///   2    loop count <= 3 (j)
///   3      a += x[i]
///   4      copy a -> history[i][j]
///   5    flag = a[0] > 0
///   6    if flag
///   7      copy a -> y[i]
///   8    else a + a -> y[i]
///   9  copy y[3] -> last
Bytes artifactOf(const std::function<void(Nodes &)> &change = {}) {
  Nodes all;
  auto a = sliceAt(GRADC_SPACE_ARENA, 0), flag = sliceAt(GRADC_SPACE_ARENA, 0, 1, GRADC_BOOL);
  flag.offset = 64;
  auto x = sliceAt(GRADC_SPACE_INPUT, 0), count = sliceAt(GRADC_SPACE_INPUT, 1, 4, GRADC_I32);
  auto y = sliceAt(GRADC_SPACE_OUTPUT, 0), last = sliceAt(GRADC_SPACE_OUTPUT, 1);
  auto history = sliceAt(GRADC_SPACE_OUTPUT, 2), y3 = y;
  y3.offset = 3 * rowBytes;
  const std::vector<int64_t> i = {64}, ij = {maxCount * 64, 64}, none;
  all.add(GRADC_NODE_LOOP, 9, {}, 0).as.loop.trips = rows;
  all.add(GRADC_NODE_COPY, 2, {x, a}, 1, {i, none});
  all.add(GRADC_NODE_LOOP, 5, {count}, 1, {none}).as.loop.trips = maxCount;
  all.add(GRADC_NODE_LAUNCH, 4, {a, x, a}, 2, {none, i, none}).as.launch.kernel = addNumbers;
  all.add(GRADC_NODE_COPY, 5, {a, history}, 1, {none, ij});
  all.add(GRADC_NODE_LAUNCH, 6, {a, flag}, 1, {none, none}).as.launch.kernel = isPositive;
  all.add(GRADC_NODE_IF, 9, {flag}, 1, {none}).as.branch.otherwise = 8;
  all.add(GRADC_NODE_COPY, 8, {a, y}, 1, {none, i});
  all.add(GRADC_NODE_LAUNCH, 9, {a, a, y}, 2, {none, none, i}).as.launch.kernel = addNumbers;
  all.add(GRADC_NODE_COPY, 10, {y3, last}, 1, {none, none});
  if (change)
    change(all);
  ScheduleWriter writer;
  return writer.write(
      std::move(all),
      {writer.input("x", GRADC_F32, {rows, columns}), writer.input("count", GRADC_I32, {})},
      {writer.output("y", {rows, columns}, 0), writer.output("last", {columns}, 1),
       writer.output("history", {rows, maxCount, columns}, 2)});
}

std::string errorOf(const std::function<void(Nodes &)> &change) {
  return errorOfSchedule(artifactOf(change));
}

/// The inputs and outputs of "walk".
struct Call {
  alignas(64) float x[rows][columns];
  alignas(64) int32_t count;
  float y[rows][columns] = {}, last[columns] = {}, history[rows][maxCount][columns] = {};

  explicit Call(int32_t count) : count(count) {
    for (int i = 0; i < rows; ++i)
      for (int c = 0; c < columns; ++c)
        x[i][c] = float(i % 2 ? -1 : 1) * float(i + c + 1);
  }
  std::vector<const void *> inputs() const { return {x, &count}; }
  std::vector<void *> outputs() { return {y, last, history}; }

  void expectResults() const {
    int times = std::max(count, 0);
    for (int i = 0; i < rows; ++i)
      for (int c = 0; c < columns; ++c) {
        float a = x[i][c] * float(1 + times);
        EXPECT_EQ(y[i][c], i % 2 ? a + a : a) << i << ' ' << c;
        for (int j = 0; j < times; ++j)
          EXPECT_EQ(history[i][j][c], x[i][c] * float(j + 2)) << i << ' ' << j << ' ' << c;
      }
    for (int c = 0; c < columns; ++c)
      EXPECT_EQ(last[c], y[rows - 1][c]);
  }
};

struct Loaded : LoadedSchedule {
  explicit Loaded(int threads) : LoadedSchedule(artifactOf(), threads) {}
  Status run(Call &call) { return session->run(entry(), call.inputs(), call.outputs()); }
};

TEST(Schedule, TheSameOnAnyNumberOfThreads) {
  for (int threads : {1, 2, 3}) {
    Loaded loaded(threads);
    // Repeated: each run sets its own shares and moved slices.
    for (int count : {3, 0, 1, 2, 3, -5, 1}) {
      Call run(count);
      ASSERT_TRUE(loaded.run(run).ok());
      run.expectResults();
    }
  }
}

TEST(Schedule, ACountAboveItsMaximumIsAnError) {
  for (int threads : {1, 3}) {
    Loaded loaded(threads);
    Call run(4);
    EXPECT_EQ(loaded.run(run).message(),
              "the loop of node n2 counts 4 iterations, expected at most 3");
    Call right(2); // and the session goes on
    ASSERT_TRUE(loaded.run(right).ok());
    right.expectResults();
  }
}

const char *const pathsOfOne = "1[0] 3[0,0] 4[0,0] 5[0] 7[0] 1[1] 3[1,0] 4[1,0] 5[1] 8[1] "
                               "1[2] 3[2,0] 4[2,0] 5[2] 7[2] 1[3] 3[3,0] 4[3,0] 5[3] 8[3] 9 ";

TEST(Schedule, ProfilesNameLaunchesByPath) {
  for (int threads : {1, 3}) {
    Loaded loaded(threads);
    loaded.session->profile(true);
    for (int repeat = 0; repeat < 2; ++repeat) {
      Call run(1);
      ASSERT_TRUE(loaded.run(run).ok());
      const Profile &profile = loaded.session->lastProfile();
      std::string paths;
      for (const LaunchPath &path : profile.paths)
        paths += pathText(path);
      EXPECT_EQ(paths, pathsOfOne);
      ASSERT_EQ(profile.times.size(), profile.paths.size() + 1);
      EXPECT_TRUE(std::is_sorted(profile.times.begin(), profile.times.end()));
    }
  }
}

TEST(Schedule, FindsTheIterationOfANonFiniteNumber) {
  Loaded loaded(2);
  Call run(2);
  run.x[2][5] = std::numeric_limits<float>::max(); // twice that is not finite
  auto found = findNonFinite(*loaded.session, loaded.entry(), run.inputs());
  ASSERT_TRUE(found) << found.status().message();
  EXPECT_EQ(found->node, "n3");
  EXPECT_EQ(found->kernel, "add_numbers");
  EXPECT_EQ(found->index, 5);
  EXPECT_EQ(pathText(found->path), "3[2,0] ");
}

class CSchedule : public testing::Test {
protected:
  void SetUp() override {
    blob = artifactOf();
    ASSERT_EQ(gradc_open_memory(blob.data(), blob.size(), &model), GRADC_OK) << gradc_last_error();
    gradc_session_options options = {};
    options.size = sizeof options;
    options.threads = 2;
    ASSERT_EQ(gradc_session_create(model, &options, &session), GRADC_OK) << gradc_last_error();
    path.size = sizeof path;
  }
  void TearDown() override {
    gradc_session_free(session);
    gradc_close(model);
  }
  gradc_launch_info describe(uint32_t launch) {
    gradc_launch_info info = {};
    info.size = sizeof info;
    EXPECT_EQ(gradc_launch_describe(session, 0, launch, &info), GRADC_OK) << gradc_last_error();
    return info;
  }

  Bytes blob;
  gradc_model *model = nullptr;
  gradc_session *session = nullptr;
  gradc_launch_path path = {};
};

TEST_F(CSchedule, DescribesTheTree) {
  gradc_launch_info outer = describe(0), loop = describe(2), branch = describe(6),
                    copy = describe(7);
  EXPECT_EQ(outer.kind, GRADC_NODE_LOOP);
  EXPECT_EQ(outer.trips, 4);
  EXPECT_EQ(outer.end, 9u);
  EXPECT_STREQ(outer.title, "loop");
  EXPECT_EQ(loop.operands, 1u); // it reads its count
  EXPECT_EQ(loop.trips, 3);
  EXPECT_EQ(branch.kind, GRADC_NODE_IF);
  EXPECT_EQ(branch.otherwise, 8u);
  EXPECT_STREQ(branch.node, "n6");
  EXPECT_EQ(copy.kind, GRADC_NODE_COPY);
  EXPECT_STREQ(copy.symbol, "");
  gradc_slice_info slice = {};
  slice.size = sizeof slice;
  ASSERT_EQ(gradc_slice_describe(session, 0, 4, 1, &slice), GRADC_OK);
  ASSERT_EQ(slice.stride_count, 2u);
  EXPECT_EQ(slice.strides[0], 192);
  EXPECT_EQ(slice.strides[1], 64);
}

TEST_F(CSchedule, StepsThroughIterations) {
  Call run(1);
  auto inputs = run.inputs();
  ASSERT_EQ(gradc_begin(session, 0, inputs.data(), 2), GRADC_OK) << gradc_last_error();
  std::string paths;
  for (;;) {
    ASSERT_EQ(gradc_next(session, &path), GRADC_OK) << gradc_last_error();
    if (path.launch == GRADC_NONE)
      break;
    LaunchPath found = {path.launch, path.loops, {path.iterations[0], path.iterations[1]}};
    paths += pathText(found);
    float operand[columns] = {};
    if (path.launch == 3) { // x[i], before and after
      ASSERT_EQ(gradc_slice_read(session, 3, 1, operand, sizeof operand), GRADC_OK);
      EXPECT_EQ(operand[2], run.x[path.iterations[0]][2]);
    }
    ASSERT_EQ(gradc_launch(session, path.launch), GRADC_OK) << gradc_last_error();
    if (path.launch == 4) {
      ASSERT_EQ(gradc_slice_read(session, 4, 1, operand, sizeof operand), GRADC_OK);
      EXPECT_EQ(operand[2], 2 * run.x[path.iterations[0]][2]);
    }
  }
  EXPECT_EQ(paths, pathsOfOne);
  EXPECT_EQ(gradc_launch(session, 6), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "launch 6 is control flow: gradc_next walks through it");
}

TEST_F(CSchedule, CountsTheLaunchesOfAProfile) {
  Call run(1);
  auto inputs = run.inputs();
  auto outputs = run.outputs();
  ASSERT_EQ(gradc_session_profile(session, 1), GRADC_OK);
  EXPECT_EQ(gradc_launches_run(session), 0u);
  ASSERT_EQ(gradc_run(session, 0, inputs.data(), 2, outputs.data(), 3), GRADC_OK)
      << gradc_last_error();
  ASSERT_EQ(gradc_launches_run(session), 21u);
  ASSERT_EQ(gradc_launch_run(session, 7, &path), GRADC_OK);
  EXPECT_EQ(path.launch, 4u);
  EXPECT_EQ(path.loops, 2u);
  EXPECT_EQ(path.iterations[0], 1u);
  EXPECT_EQ(gradc_launch_run(session, 21, &path), GRADC_USAGE);
  std::vector<int64_t> times(22);
  EXPECT_EQ(gradc_launch_times(session, times.data(), 22), GRADC_OK) << gradc_last_error();
}

TEST(Schedule, ChecksTheTree) {
  EXPECT_EQ(errorOf({}), "");
  EXPECT_EQ(errorOf([](Nodes &all) { all.nodes[2].end = 10; }),
            "node 2 ends at 10, outside the body around it");
  EXPECT_EQ(errorOf([](Nodes &all) { all.nodes[2].end = 2; }),
            "node 2 ends at 2, outside the body around it");
  EXPECT_EQ(errorOf([](Nodes &all) { all.nodes[6].as.branch.otherwise = 10; }),
            "the else body of node 6 begins at 10, outside of it");
  EXPECT_EQ(errorOf([](Nodes &all) { all.nodes[3].end = 5; }),
            "node 3 has a body, which nodes of kind 0 do not have");
  EXPECT_EQ(errorOf([](Nodes &all) { all.nodes[9].kind = 5; }),
            "node 9 is of kind 5, which this version does not run");
  EXPECT_EQ(errorOf([](Nodes &all) {
              all.nodes.assign(40, all.nodes[2]);
              all.slices.assign(40, {});
              all.strides.assign(40, {});
              for (gradc_artifact_node &node : all.nodes) {
                node.end = 40;
                node.operands = 0;
                node.as.loop.trips = 1;
              }
            }),
            "expected loops in each other at most of 8, found 9");
  EXPECT_EQ(errorOf([](Nodes &all) {
              all.nodes.assign(40, all.nodes[6]);
              all.slices.assign(40, all.slices[6]);
              all.strides.assign(40, all.strides[6]);
              for (gradc_artifact_node &node : all.nodes)
                node.end = node.as.branch.otherwise = 40;
            }),
            "expected bodies around a node at most of 16, found 17");
}

TEST(Schedule, ChecksConditionsCountsAndCopies) {
  EXPECT_EQ(errorOf([](Nodes &all) { all.slices[6][0].dtype = GRADC_U8; }),
            "expected an if to read one bool");
  EXPECT_EQ(errorOf([](Nodes &all) { all.slices[2][0].dtype = GRADC_F32; }),
            "expected the count of a loop to be one i32 or i64");
  EXPECT_EQ(errorOf([](Nodes &all) { all.nodes[0].as.loop.trips = -1; }),
            "a loop of -1 iterations, in all -1");
  EXPECT_EQ(errorOf([](Nodes &all) { all.nodes[2].as.loop.trips = INT64_MAX; }),
            "a loop of 9223372036854775807 iterations, in all 9223372036854775807");
  EXPECT_EQ(errorOf([](Nodes &all) { all.nodes[2].as.loop.trips = 0x40000000; }),
            "a loop of 1073741824 iterations, in all 4294967296");
  EXPECT_EQ(errorOf([](Nodes &all) { all.slices[9][1].bytes = 32; }),
            "expected a copy to a slice of 64, found 32");
  EXPECT_EQ(errorOf([](Nodes &all) { all.nodes[9].operands = 2; }),
            "expected a copy from one slice to one, found 2 and 0");
}

TEST(Schedule, ChecksSlicesInEveryIteration) {
  EXPECT_EQ(errorOf([](Nodes &all) { all.strides[1][0] = {128}; }),
            "a slice lies outside input 0 (64 bytes at 0 and further of 256)");
  EXPECT_EQ(errorOf([](Nodes &all) { all.strides[1][0] = {-64}; }),
            "a slice lies outside input 0 (64 bytes at 0 and further of 256)");
  EXPECT_EQ(errorOf([](Nodes &all) {
              all.strides[1][0] = {-64};
              all.slices[1][0].offset = 192;
            }),
            "");
  EXPECT_EQ(errorOf([](Nodes &all) { all.strides[1][0] = {32}; }),
            "a slice with a stride of 32, expected a multiple of 64");
  EXPECT_EQ(errorOf([](Nodes &all) { all.strides[1][0] = {INT64_MIN}; }),
            "a slice with an impossible stride of -9223372036854775808");
  EXPECT_EQ(errorOf([](Nodes &all) { all.strides[9][1] = {64}; }),
            "a slice with strides of 1 loops, of which 0 are around it");
  EXPECT_EQ(errorOf([](Nodes &all) { all.strides[4][1] = {192, 64, 64}; }),
            "a slice with strides of 3 loops, of which 2 are around it");
  EXPECT_EQ(errorOf([](Nodes &all) { all.strides[4][1] = {192, 128}; }),
            "a slice lies outside output 2 (64 bytes at 0 and further of 768)");
}

TEST(Schedule, DamagedWordsAreRefusedOrHarmless) {
  const Bytes good = artifactOf();
  auto artifact = Artifact::fromMemory(good);
  ASSERT_TRUE(artifact);
  auto &entry = (*artifact)->elements<gradc_artifact_entry>((*artifact)->levels()[0].entries)[0];
  auto nodes = (*artifact)->elements<gradc_artifact_node>(entry.nodes);
  auto *first = reinterpret_cast<const std::byte *>(nodes.data());
  size_t begin = size_t(first - good.data()), refused = 0;
  for (size_t at = begin; at < begin + nodes.size_bytes(); at += sizeof(uint32_t))
    for (uint32_t word : {0u, 1u, 9u, 40u, 0x7fffffffu, 0xffffffffu}) {
      Bytes blob = good;
      std::memcpy(blob.data() + at, &word, sizeof word);
      sealHash(blob);
      refused += !Artifact::fromMemory(blob).ok();
    }
  EXPECT_GT(refused, nodes.size() * 10);
}

TEST(Schedule, OldArtifactsSayHowToRebuildThem) {
  Bytes blob = artifactOf();
  uint32_t old = 5;
  std::memcpy(blob.data() + offsetof(gradc_artifact_header, version), &old, sizeof old);
  EXPECT_EQ(
      Artifact::fromMemory(blob).status().message(),
      "expected an artifact of version 25, found 5: compile it again, gradc compile SPEC -o FILE");
}

} // namespace
