// Schedules with loops and branches as one graph: the host's bits, one wait per run, the failure of
// a loop, and the way back to pieces where a driver has no conditional nodes.
#include "runtime/core/Session.h"
#include "runtime/device/cuda/ControlImage.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace gradc::runtime;

namespace {

using Results = std::vector<std::vector<char>>;

/// Bytes for all inputs of an entry: numbers that depend on `seed`, and one count for all counts.
std::vector<std::vector<char>> inputsOf(const Artifact &artifact, const gradc_artifact_entry &entry,
                                        int seed, int count) {
  std::vector<std::vector<char>> all;
  for (const auto &port : artifact.elements<gradc_artifact_port>(entry.inputs)) {
    std::vector<char> &bytes = all.emplace_back(port.tensor.bytes);
    for (size_t i = 0; port.tensor.dtype == GRADC_F32 && i < bytes.size() / 4; ++i) {
      float v = port.role == GRADC_ROLE_LEARNING_RATE ? 0.01f
                : port.role == GRADC_ROLE_STEP        ? 1.0f
                                                      : std::sin(float(i + 1) * float(seed));
      std::memcpy(&bytes[4 * i], &v, 4);
    }
    for (size_t i = 0; port.tensor.dtype == GRADC_I64 && i < bytes.size() / 8; ++i) {
      int64_t v = (int64_t(i) + seed) % std::max<int64_t>(port.classes, 1);
      std::memcpy(&bytes[8 * i], &v, 8);
    }
    if (port.tensor.dtype == GRADC_I32)
      std::memcpy(bytes.data(), &count, sizeof count);
  }
  return all;
}

class ConditionalGraph : public testing::Test {
protected:
  void SetUp() override {
    if (!cuda::controlImage())
      GTEST_SKIP() << "built without nvcc and nvlink";
    simulate("");
    setenv("GRADC_LIBRARIES", "off", 1);
    setenv("GRADC_LIBCUBLASLT", GRADC_TEST_LIBCUBLASLT, 1);
    setenv("GRADC_LIBCUDNN", GRADC_TEST_LIBCUDNN, 1);
  }
  void TearDown() override { simulate(""); }

  static void simulate(const char *settings) {
    setenv("GRADC_LIBCUDA", GRADC_TEST_LIBCUDA, 1);
    setenv("GRADC_SIMULATED", settings, 1);
  }

  static int ask(const char *what) {
    void *driver = dlopen(GRADC_TEST_LIBCUDA, RTLD_NOW);
    auto function = reinterpret_cast<int (*)()>(dlsym(driver, what));
    EXPECT_TRUE(function) << what;
    return function ? function() : -1;
  }

  void open(const char *name) {
    auto opened = Artifact::open(std::string(GRADC_TEST_ARTIFACTS "/") + name);
    ASSERT_TRUE(opened) << opened.status().message();
    artifact = *opened;
    host = session(std::string(artifact->string(artifact->levels().front().name)));
    gpu = session("cuda:sm_90");
    ASSERT_TRUE(host && gpu);
  }

  std::unique_ptr<Session> session(const std::string &level) {
    auto made = Session::create(artifact, {1, level});
    EXPECT_TRUE(made) << made.status().message();
    return made ? std::move(*made) : nullptr;
  }

  Status run(Session &on, const char *name, int seed, int count, Results &results) {
    const gradc_artifact_entry *entry = on.findEntry(name);
    EXPECT_TRUE(entry) << name;
    auto given = inputsOf(*artifact, *entry, seed, count);
    std::vector<const void *> inputs;
    for (auto &bytes : given)
      inputs.push_back(bytes.data());
    results.clear();
    std::vector<void *> outputs;
    for (const auto &port : artifact->elements<gradc_artifact_port>(entry->outputs))
      results.emplace_back(port.tensor.bytes);
    for (auto &result : results)
      outputs.push_back(result.data());
    return on.run(*entry, inputs, outputs);
  }

  /// Both sessions on the same inputs. Returns how often the host waited for the GPU.
  int expectTheHostsBits(const char *name, int seed, int count) {
    Results expected, found;
    Status ran = run(*host, name, seed, count, expected);
    EXPECT_TRUE(ran.ok()) << ran.message();
    int before = ask("gradcSimulatedWaits");
    ran = run(*gpu, name, seed, count, found);
    int waits = ask("gradcSimulatedWaits") - before;
    EXPECT_TRUE(ran.ok()) << ran.message();
    EXPECT_EQ(found, expected) << "seed " << seed << ", count " << count;
    return waits;
  }

  std::shared_ptr<const Artifact> artifact;
  std::unique_ptr<Session> host, gpu;
};

/// Loops in loops, one of which reads its count, slices that move, and a branch that takes both
/// ways. A first run is by pieces, between which the host waits.
TEST_F(ConditionalGraph, GivesTheHostsBitsWithOneWait) {
  for (const char *order : {"order=forward", "order=reverse", "order=shuffled"}) {
    open("control-flow");
    simulate(order);
    EXPECT_GT(expectTheHostsBits("forward", 1, 2), 1);
    for (int count : {3, 0, 1, -2, 2, 3})
      EXPECT_EQ(expectTheHostsBits("forward", count + 5, count), 1) << order;
    EXPECT_EQ(gpu->placement().find("the host reads"), std::string::npos) << gpu->placement();
  }
}

/// Before the first iteration, after some, together with a count, and never.
TEST_F(ConditionalGraph, ConditionsEndLoops) {
  for (const char *order : {"order=forward", "order=reverse", "order=shuffled"}) {
    open("ending-loops");
    simulate(order);
    EXPECT_GT(expectTheHostsBits("forward", 1, 2), 1);
    for (int count : {3, 0, 1, -2, 20, 2})
      EXPECT_EQ(expectTheHostsBits("forward", count + 5, count), 1) << order;
  }
}

TEST_F(ConditionalGraph, OneGraphServesAllCounts) {
  open("control-flow");
  for (int count : {1, 2})
    expectTheHostsBits("forward", 1, count);
  int before = ask("gradcSimulatedCaptures");
  for (int count : {3, 0, 1})
    expectTheHostsBits("forward", count, count);
  EXPECT_EQ(ask("gradcSimulatedCaptures"), before);
}

/// Nothing behind the loop runs, so states keep their values; and the next run begins anew.
TEST_F(ConditionalGraph, ALoopThatCountsTooManyIterationsFails) {
  open("control-flow");
  for (int run = 0; run < 2; ++run)
    expectTheHostsBits("forward", run, 2);
  Results results;
  Status failed = run(*gpu, "forward", 1, 4, results);
  EXPECT_EQ(failed.message(), "the loop of node inner counts 4 iterations, expected at most 3");
  EXPECT_EQ(run(*host, "forward", 1, 4, results).message(), failed.message());
  std::vector<char> states[2];
  for (auto [session, state] :
       {std::pair(host.get(), &states[0]), std::pair(gpu.get(), &states[1])}) {
    state->resize(artifact->states()[0].tensor.bytes);
    ASSERT_TRUE(session->readState(0, state->data()).ok());
  }
  EXPECT_EQ(states[0], states[1]);
  EXPECT_EQ(expectTheHostsBits("forward", 3, 3), 1);
}

/// The step of a trainer in two parts: its parts are slices that move.
TEST_F(ConditionalGraph, AStepInPartsWaitsOnce) {
  open("conditional-parts");
  simulate("");
  Results first, second;
  auto pieces = session("cuda:sm_90");
  for (int step = 1; step < 5; ++step) {
    int before = ask("gradcSimulatedWaits");
    ASSERT_TRUE(run(*gpu, "train", step, 0, first).ok());
    if (step > 1)
      EXPECT_EQ(ask("gradcSimulatedWaits") - before, 1) << step;
    simulate("version=12030");
    if (step == 1)
      pieces = session("cuda:sm_90");
    ASSERT_TRUE(run(*pieces, "train", step, 0, second).ok());
    simulate("");
    EXPECT_EQ(first, second) << step;
  }
}

/// A library's product inside a loop works on copies at a fixed place, with the bits that it has on
/// the slices themselves.
TEST_F(ConditionalGraph, LibraryCallsReadCopiesOfSlicesThatMove) {
  setenv("GRADC_LIBRARIES", "required", 1);
  open("moving-calls");
  simulate("version=12030");
  auto pieces = session("cuda:sm_90");
  simulate("");
  for (int step = 1; step < 5; ++step) {
    Results first, second, expected;
    ASSERT_TRUE(run(*gpu, "forward", step, 0, first).ok());
    ASSERT_TRUE(run(*pieces, "forward", step, 0, second).ok());
    EXPECT_EQ(first, second) << step;
    ASSERT_TRUE(run(*host, "forward", step, 0, expected).ok());
    auto *found = reinterpret_cast<const float *>(first[0].data());
    auto *wanted = reinterpret_cast<const float *>(expected[0].data());
    for (size_t i = 0; i < first[0].size() / sizeof(float); ++i)
      ASSERT_NEAR(found[i], wanted[i], 1e-5) << step << ' ' << i;
  }
  EXPECT_NE(gpu->placement().find("cuBLASLt"), std::string::npos) << gpu->placement();
  EXPECT_EQ(gpu->placement().find("the host reads"), std::string::npos) << gpu->placement();
}

TEST_F(ConditionalGraph, WithoutConditionalNodesTheHostReadsConditions) {
  struct Case {
    const char *settings, *why;
  };
  for (Case c : {Case{"version=12030", "conditions in graphs need a driver for CUDA 12.4 or newer, "
                                       "found 12.3"},
                 Case{"controls=no", "cannot load the kernels that set conditions: device kernel "
                                     "image is invalid (CUDA error 200)"}}) {
    simulate(c.settings);
    open("control-flow");
    for (int count : {2, 3, 1})
      EXPECT_GT(expectTheHostsBits("forward", count, count), 1);
    std::string expected =
        std::string("the host reads conditions and counts of loops within a step: ") + c.why;
    EXPECT_NE(gpu->placement().find(expected), std::string::npos) << gpu->placement();
  }
}

} // namespace
