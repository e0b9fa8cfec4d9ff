// Loops that a condition in memory ends: results, launches and replays, and checks of an artifact.
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/device/Device.h"
#include "test/unit/runtime/core/ScheduleTesting.h"

#include <functional>
#include <gtest/gtest.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

constexpr int most = 100;
using Nodes = ScheduleNodes;

gradc_artifact_slice flag() {
  gradc_artifact_slice slice = sliceAt(GRADC_SPACE_ARENA, 0, 1, GRADC_BOOL);
  slice.offset = 64;
  return slice;
}
const gradc_artifact_slice count = sliceAt(GRADC_SPACE_INPUT, 2, sizeof(int32_t), GRADC_I32);

/// Nodes of the entry "walk" over inputs x f32[16], d f32[16] and count i32, as text:
///   0  copy x -> a
///   1  flag = a[0] > 0
///   2  loop 100 while flag
///   3    a += d
///   4    flag = a[0] > 0
///   5  copy a -> y
Bytes artifactOf(const std::function<void(Nodes &)> &change) {
  Nodes all;
  auto a = sliceAt(GRADC_SPACE_ARENA, 0), x = sliceAt(GRADC_SPACE_INPUT, 0),
       d = sliceAt(GRADC_SPACE_INPUT, 1);
  all.add(GRADC_NODE_COPY, 1, {x, a}, 1);
  all.add(GRADC_NODE_LAUNCH, 2, {a, flag()}, 1).as.launch.kernel = isPositive;
  all.add(GRADC_NODE_LOOP, 5, {flag()}, 1).as.loop.trips = most;
  all.add(GRADC_NODE_LAUNCH, 4, {a, d, a}, 2).as.launch.kernel = addNumbers;
  all.add(GRADC_NODE_LAUNCH, 5, {a, flag()}, 1).as.launch.kernel = isPositive;
  all.add(GRADC_NODE_COPY, 6, {a, sliceAt(GRADC_SPACE_OUTPUT, 0)}, 1);
  if (change)
    change(all);
  ScheduleWriter writer;
  return writer.write(std::move(all),
                      {writer.input("x", GRADC_F32, {columns}),
                       writer.input("d", GRADC_F32, {columns}),
                       writer.input("count", GRADC_I32, {})},
                      {writer.output("y", {columns}, 0)});
}

/// The loop reads a count before its condition.
void counts(Nodes &all) {
  all.slices[2] = {count, flag()};
  all.nodes[2].operands = 2;
}

std::string errorOf(const std::function<void(Nodes &)> &change) {
  return errorOfSchedule(artifactOf(change));
}

struct Loaded : LoadedSchedule {
  alignas(64) float x[columns] = {}, d[columns] = {};
  alignas(64) int32_t count = 0;

  explicit Loaded(int threads, const std::function<void(Nodes &)> &change = {})
      : LoadedSchedule(artifactOf(change), threads) {}
  std::vector<const void *> inputs() const { return {x, d, &count}; }
  /// Element c begins as first + c, and each iteration adds step.
  void set(float first, float step) {
    for (int c = 0; c < columns; ++c) {
      x[c] = first + float(c);
      d[c] = step;
    }
  }
  void expectIterations(float first, float step, int iterations) {
    set(first, step);
    float y[columns] = {};
    Status ran = session->run(entry(), inputs(), std::vector<void *>{y});
    ASSERT_TRUE(ran.ok()) << ran.message();
    for (int c = 0; c < columns; ++c)
      EXPECT_EQ(y[c], first + float(c) + step * float(iterations)) << iterations << ' ' << c;
  }
};

const char *const pathsOfTwo = "0 1 3[0] 4[0] 3[1] 4[1] 5 ";

TEST(LoopCondition, EndsALoop) {
  for (int threads : {1, 2, 3}) {
    Loaded loaded(threads);
    loaded.expectIterations(-3, 1, 0); // before the first iteration
    loaded.expectIterations(1, -1, 1); // after it
    loaded.expectIterations(7, -1, 7); // later
    loaded.expectIterations(most, -1, most);
    loaded.expectIterations(5, 1, most); // never
    loaded.expectIterations(2, -1, 2);   // and each run begins anew
  }
}

TEST(LoopCondition, EndsALoopThatAlsoCounts) {
  Loaded loaded(2, counts);
  for (auto [count, iterations] : {std::pair(3, 3), {7, 5}, {0, 0}, {-1, 0}}) {
    loaded.count = count;
    loaded.expectIterations(5, -1, iterations);
  }
  loaded.count = most + 1;
  Status failed =
      loaded.session->run(loaded.entry(), loaded.inputs(), std::vector<void *>{nullptr});
  EXPECT_EQ(failed.message(), "the loop of node n2 counts 101 iterations, expected at most 100");
}

TEST(LoopCondition, OnlyIterationsThatRunAreInProfilesAndReplays) {
  Loaded loaded(2);
  loaded.session->profile(true);
  loaded.expectIterations(2, -1, 2);
  std::string paths;
  for (const LaunchPath &path : loaded.session->lastProfile().paths)
    paths += pathText(path);
  EXPECT_EQ(paths, pathsOfTwo);
  ASSERT_TRUE(loaded.session->begin(loaded.entry(), loaded.inputs()).ok());
  paths.clear();
  for (;;) {
    auto next = loaded.session->next();
    ASSERT_TRUE(next) << next.status().message();
    if (!*next)
      break;
    paths += pathText(**next);
    ASSERT_TRUE(loaded.session->runLaunch((*next)->node).ok());
  }
  EXPECT_EQ(paths, pathsOfTwo);
}

TEST(LoopCondition, IsChecked) {
  EXPECT_EQ(errorOf({}), "");
  EXPECT_EQ(errorOf(counts), "");
  EXPECT_EQ(errorOf([](Nodes &all) { all.slices[2][0].bytes = 2; }),
            "expected the condition of a loop to be one bool");
  EXPECT_EQ(errorOf([](Nodes &all) {
              counts(all);
              all.slices[2].insert(all.slices[2].begin(), count);
              all.nodes[2].operands = 3;
            }),
            "expected operands of a loop at most of 2, found 3");
  EXPECT_EQ(errorOf([](Nodes &all) {
              counts(all);
              std::swap(all.slices[2][0], all.slices[2][1]);
            }),
            "expected operands of a loop at most of 1, found 2");
  EXPECT_EQ(errorOf([](Nodes &all) { all.nodes[2].as.loop.trips = int64_t(1) << 31; }),
            "a loop of 2147483648 iterations, in all 2147483648");
}

// How many iterations such loops run in each other is known at run time only.
TEST(LoopCondition, LetsLoopsInEachOtherHaveAnyNumberOfIterations) {
  auto nest = [](bool isOuterConditional) {
    return [isOuterConditional](Nodes &all) {
      gradc_artifact_node outer = all.nodes[2];
      outer.as.loop.trips = GRADC_MAX_ITERATIONS;
      outer.operands = isOuterConditional;
      all.nodes[2].as.loop.trips = isOuterConditional ? GRADC_MAX_ITERATIONS : 2;
      all.nodes[2].operands = 0; // counts with the loops around it
      all.nodes.insert(all.nodes.begin() + 2, outer);
      all.slices.insert(all.slices.begin() + 2, isOuterConditional
                                                    ? std::vector{flag()}
                                                    : std::vector<gradc_artifact_slice>());
      all.strides.insert(all.strides.begin() + 2, Nodes::Strides());
      all.slices[3].clear();
      for (size_t i = 2; i < all.nodes.size(); ++i)
        ++all.nodes[i].end;
    };
  };
  EXPECT_EQ(errorOf(nest(true)), "");
  EXPECT_EQ(errorOf(nest(false)), "a loop of 2 iterations, in all 4294967294");
}

TEST(LoopCondition, ThatHoldsAfterTheMostIterationsFailsTheRun) {
  EXPECT_TRUE(checkIndices("loop", GRADC_LIMIT_TRIPS, 0).ok());
  EXPECT_EQ(checkIndices("loop", GRADC_LIMIT_TRIPS, 1).message(),
            "node \"loop\": the condition of the loop still holds after 2147483647 iterations");
}

} // namespace
