// Sessions: equal bits for any number of threads, packed states, stepping, non-finite values.
#include "runtime/core/Session.h"
#include "runtime/core/NonFinite.h"
#include "runtime/core/entry/Program.h"
#include "test/unit/runtime/TestModel.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <xmmintrin.h>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// An artifact in memory and a session on it.
struct Loaded {
  Bytes blob;
  std::unique_ptr<Session> session;

  explicit Loaded(const SessionOptions &options = {}, const TestModelOptions &model = {})
      : blob(makeTestModel(model)) {
    auto artifact = Artifact::fromMemory(blob);
    EXPECT_TRUE(artifact) << artifact.status().message();
    auto created = Session::create(*artifact, options);
    EXPECT_TRUE(created) << created.status().message();
    if (created)
      session = std::move(*created);
  }

  const gradc_artifact_entry &entry(std::string_view name) {
    const gradc_artifact_entry *found = session->findEntry(name);
    EXPECT_NE(found, nullptr) << name;
    return *found;
  }
  std::vector<float> state(uint32_t index, size_t count) {
    std::vector<float> values(count);
    Status read = session->readState(index, values.data());
    EXPECT_TRUE(read.ok()) << read.message();
    return values;
  }
};

std::vector<float> rows(float scale = 1) {
  std::vector<float> x(64 * 16);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = scale * std::sin(float(i));
  return x;
}

struct TrainResult {
  float loss = 0;
  std::vector<float> doubled = std::vector<float>(64 * 16), total;
  bool operator==(const TrainResult &) const = default;
};

TrainResult train(int threads, int steps, int64_t grain) {
  TestModelOptions model;
  model.grain = grain;
  Loaded loaded({threads, ""}, model);
  TrainResult result;
  for (int step = 0; step < steps; ++step) {
    std::vector<float> x = rows(float(step + 1));
    const void *inputs[] = {x.data()};
    void *outputs[] = {&result.loss, result.doubled.data()};
    EXPECT_TRUE(loaded.session->run(loaded.entry("train"), inputs, outputs).ok());
  }
  result.total = loaded.state(0, 64 * 16);
  return result;
}

TEST(Session, RunsAnEntry) {
  TrainResult result = train(1, 1, 4);
  std::vector<float> x = rows();
  float sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(result.doubled[i], x[i] * 2 + float(i / 16));
    EXPECT_EQ(result.total[i], result.doubled[i]);
    sum += result.doubled[i];
  }
  EXPECT_EQ(result.loss, sum);
}

TEST(Session, GivesTheSameBitsForAnyNumberOfThreads) {
  for (int64_t grain : {0, 1, 7, 1000}) {
    TrainResult expected = train(1, 50, grain);
    for (int threads : {2, 3, 8})
      EXPECT_TRUE(train(threads, 50, grain) == expected) << threads << " threads, grain " << grain;
  }
}

TEST(Session, TakesInputsOfAnyAlignment) {
  Loaded loaded;
  std::vector<float> x = rows();
  alignas(64) std::byte room[64 * 64 + 128];
  TrainResult first;
  for (size_t offset : {0, 4, 64, 12}) {
    std::memcpy(room + offset, x.data(), x.size() * sizeof(float));
    const void *inputs[] = {room + offset};
    TrainResult result;
    void *outputs[] = {&result.loss, result.doubled.data()};
    ASSERT_TRUE(loaded.session->run(loaded.entry("train"), inputs, outputs).ok());
    if (offset == 0)
      first = result;
    EXPECT_TRUE(result == first) << offset;
  }
}

TEST(Session, OutputsMayBeNullAndMayBeInputs) {
  Loaded loaded;
  std::vector<float> x = rows(), out(x.size());
  const void *inputs[] = {x.data()};
  void *nothing[] = {nullptr, nullptr};
  EXPECT_TRUE(loaded.session->run(loaded.entry("train"), inputs, nothing).ok());
  void *outputs[] = {out.data()};
  EXPECT_TRUE(loaded.session->run(loaded.entry("identity"), inputs, outputs).ok());
  EXPECT_EQ(out, x);
}

TEST(Session, RefusesAWrongNumberOfPorts) {
  Loaded loaded;
  float loss = 0;
  void *outputs[] = {&loss, nullptr};
  Status few = loaded.session->run(loaded.entry("train"), {}, outputs);
  EXPECT_EQ(few.code(), Code::usage);
  EXPECT_EQ(few.message(), "entry train: expected 1 inputs, found 0");
  std::vector<float> x = rows();
  const void *inputs[] = {x.data()};
  EXPECT_EQ(loaded.session->run(loaded.entry("train"), inputs, {}).message(),
            "entry train: expected 2 outputs, found 0");
}

TEST(Session, KeepsStatesInTheirLogicalLayout) {
  Loaded loaded;
  std::vector<float> weight(24);
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] = 1 + float(i);
  EXPECT_EQ(loaded.state(1, 24), weight);
  EXPECT_EQ(loaded.state(2, 3), (std::vector<float>{7, 8, 9}));

  for (float &w : weight)
    w *= -3;
  ASSERT_TRUE(loaded.session->writeState(1, weight.data()).ok());
  EXPECT_EQ(loaded.state(1, 24), weight);
  float unused[] = {1, 2, 3};
  ASSERT_TRUE(loaded.session->writeState(2, unused).ok());
  EXPECT_EQ(loaded.state(2, 3), (std::vector<float>{1, 2, 3}));
  // The packed primary and the mirror are both new.
  float out = 0;
  void *outputs[] = {&out};
  ASSERT_TRUE(loaded.session->run(loaded.entry("weigh"), {}, outputs).ok());
  EXPECT_EQ(out, -3 * 2 * 300);

  ASSERT_TRUE(loaded.session->resetStates().ok());
  EXPECT_EQ(loaded.state(1, 24)[5], 6);
  EXPECT_EQ(loaded.state(2, 3)[0], 7);
}

TEST(Session, StepsLaunchByLaunch) {
  Loaded loaded({2, ""});
  const gradc_artifact_entry &entry = loaded.entry("train");
  const Artifact &artifact = loaded.session->artifact();
  {
    std::vector<float> x = rows(); // gone before the first launch
    const void *inputs[] = {x.data()};
    ASSERT_TRUE(loaded.session->begin(entry, inputs).ok());
  }
  auto launches = artifact.elements<gradc_artifact_node>(entry.nodes);
  auto result = [&](uint32_t launch) {
    auto slices = artifact.elements<gradc_artifact_slice>(launches[launch].slices);
    auto bytes = loaded.session->slice(slices[launches[launch].operands]);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  };
  ASSERT_TRUE(loaded.session->runLaunch(0).ok());
  EXPECT_EQ(result(0), train(1, 1, 4).doubled);
  EXPECT_EQ(result(1), std::vector<float>(64 * 16));
  ASSERT_TRUE(loaded.session->runLaunch(1).ok());
  EXPECT_EQ(result(1), result(0));
  EXPECT_EQ(loaded.session->runLaunch(3).message(), "launch 3 is not of a begun entry");
}

TEST(Session, RefusesToStepWhatWasNotBegun) {
  Loaded loaded;
  EXPECT_EQ(loaded.session->runLaunch(0).message(), "launch 0 is not of a begun entry");
}

TEST(Session, NamesTheFirstNonFiniteTensor) {
  Loaded loaded;
  std::vector<float> x(64 * 16, 1);
  x[2 * 16 + 5] = 0.5f; // row 2: 2 x + 2 - 3 = 0
  x[1 * 16 + 7] = 1;    // row 1: 2 x + 1 - 3 = 0, the first
  const void *inputs[] = {x.data()};
  auto found = findNonFinite(*loaded.session, loaded.entry("invert"), inputs);
  ASSERT_TRUE(found) << found.status().message();
  EXPECT_EQ(found->node, "n4");
  EXPECT_EQ(found->kernel, "reciprocal");
  EXPECT_EQ(found->index, 16);
  EXPECT_EQ(found->value, std::numeric_limits<double>::infinity());
}

TEST(Session, NamesANonFiniteInput) {
  Loaded loaded;
  std::vector<float> x = rows();
  x[77] = -std::numeric_limits<float>::quiet_NaN();
  const void *inputs[] = {x.data()};
  auto found = findNonFinite(*loaded.session, loaded.entry("invert"), inputs);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, "x");
  EXPECT_EQ(found->kernel, "input");
  EXPECT_EQ(found->index, 77);
  EXPECT_TRUE(std::isnan(found->value));
}

TEST(Session, SaysWhenAllIsFinite) {
  Loaded loaded;
  std::vector<float> x(64 * 16, 100);
  const void *inputs[] = {x.data()};
  auto found = findNonFinite(*loaded.session, loaded.entry("invert"), inputs);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.status().message(), "the replay of entry invert gives finite values only");
}

// A program built with -ffast-math flushes denormals on its threads, others do not. Sessions must
// not depend on it.
TEST(Session, FlushesDenormalsWhateverTheCallerHasSet) {
  for (auto [threads, flags] : {std::pair(1, 0u), {2, 0u}, {1, 0x8040u}, {2, 0x8040u}}) {
    unsigned saved = _mm_getcsr();
    _mm_setcsr((saved & ~0x8040u) | flags);
    Loaded loaded({threads, ""});
    alignas(64) float x[64 * 16], out[64 * 16] = {};
    std::fill(x, x + 64 * 16, 1.0f);
    const void *inputs[] = {x};
    void *outputs[] = {out};
    Status ran = loaded.session->run(loaded.entry("tiny"), inputs, outputs);
    EXPECT_EQ(_mm_getcsr() & 0x8040, flags);
    _mm_setcsr(saved);
    ASSERT_TRUE(ran.ok());
    for (float value : out)
      ASSERT_EQ(value, 0.0f);
  }
}

TEST(Session, TwoArtifactsLiveInOneProcess) {
  TestModelOptions other;
  other.weightStart = 100;
  other.image = GRADC_TEST_OTHER_KERNELS;
  Loaded first, second({3, ""}, other);
  EXPECT_EQ(first.state(1, 24)[0], 1);
  EXPECT_EQ(second.state(1, 24)[0], 100);
  float value[24] = {5};
  ASSERT_TRUE(first.session->writeState(1, value).ok());
  EXPECT_EQ(first.state(1, 24)[0], 5);
  EXPECT_EQ(second.state(1, 24)[0], 100);

  // Each artifact has its own kernels even if names are equal, whichever was opened or run last.
  auto doubledRow = [](Loaded &loaded) {
    std::vector<float> x = rows();
    TrainResult result;
    const void *inputs[] = {x.data()};
    void *outputs[] = {&result.loss, result.doubled.data()};
    EXPECT_TRUE(loaded.session->run(loaded.entry("train"), inputs, outputs).ok());
    return result.doubled[16 + 3];
  };
  float x = rows()[16 + 3];
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(doubledRow(first), x * 2 + 1);
    EXPECT_EQ(doubledRow(second), x * 3 + 1);
  }
}

/// Whether the system can save AMX's registers: it is asked for the features that it supports.
bool savesTiles() {
  constexpr long getSupported = 0x1021, tileData = 18; // ARCH_GET_XCOMP_SUPP
  uint64_t supported = 0;
  return syscall(SYS_arch_prctl, getSupported, &supported) == 0 && (supported >> tileData & 1);
}

/// The highest known level that this machine runs, determined in another way.
std::string highestLevel() {
  return __builtin_cpu_supports("amx-bf16") && savesTiles() ? "x86-64-v4+amx"
         : __builtin_cpu_supports("avx512bf16")             ? "x86-64-v4+bf16"
         : __builtin_cpu_supports("avx512f")                ? "x86-64-v4"
                                                            : "x86-64-v3";
}

TEST(Session, ChoosesTheHighestLevelThatRuns) {
  TestModelOptions model;
  model.levels = {"x86-64-v3", "x86-64-v4", "x86-64-v4+bf16", "x86-64-v4+amx", "x86-64-v99"};
  Loaded highest({1, ""}, model);
  std::string_view name = highest.session->artifact().string(highest.session->level().name);
  EXPECT_EQ(name, highestLevel());
  Loaded asked({1, "x86-64-v3"}, model);
  EXPECT_EQ(asked.session->artifact().string(asked.session->level().name), "x86-64-v3");
}

TEST(Session, SaysWhichLevelsThereAre) {
  TestModelOptions model;
  model.levels = {"x86-64-v98", "x86-64-v99"};
  Bytes blob = makeTestModel(model);
  auto artifact = Artifact::fromMemory(blob);
  ASSERT_TRUE(artifact);
  // The missing features for the next level follow, if there is one.
  std::string offers = "this machine offers " + highestLevel();
  Status none = Session::create(*artifact, {}).status();
  EXPECT_EQ(none.code(), Code::error);
  EXPECT_TRUE(
      none.message().starts_with("the artifact has code for x86-64-v98, x86-64-v99; " + offers))
      << none.message();
  Status asked = Session::create(*artifact, {1, "x86-64-v99"}).status();
  EXPECT_TRUE(asked.message().starts_with("cannot run level x86-64-v99; " + offers))
      << asked.message();
  Status unknown = Session::create(*artifact, {1, "z80"}).status();
  EXPECT_EQ(unknown.code(), Code::usage);
  EXPECT_EQ(unknown.message(),
            "unknown level z80: the artifact has code for x86-64-v98, x86-64-v99");
}

TEST(Session, NamesAKernelThatTheImageLacks) {
  TestModelOptions model;
  model.lacking = "sum_all";
  Bytes blob = makeTestModel(model);
  auto artifact = Artifact::fromMemory(blob);
  ASSERT_TRUE(artifact);
  EXPECT_EQ(Session::create(*artifact, {}).status().message(),
            "corrupt artifact: the image of level x86-64-v3 lacks kernel no_such_kernel");
}

} // namespace
