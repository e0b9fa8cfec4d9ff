// The guarantees of every device, checked on the host, the simulated device, and a real GPU. Needs
// no LLVM: it uses a precompiled trainer from its own folder.
#include "runtime/base/Text.h"
#include "runtime/core/Session.h"
#include "runtime/device/Device.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <unistd.h>

using namespace gradc::runtime;

namespace {

struct Kind {
  const char *name, *artifact, *level; ///< level: empty: the host's
  const char *driver;                  ///< that GRADC_LIBCUDA names; empty: the machine's own
  const char *libraries;               ///< GRADC_LIBRARIES
};
constexpr Kind kinds[] = {
    {"host", "conformance-simulated", "", "", "auto"},
    {"simulated", "conformance-simulated", "cuda:sm_90", GRADC_TEST_LIBCUDA, "off"},
    {"simulatedLibraries", "conformance-simulated", "cuda:sm_90", GRADC_TEST_LIBCUDA, "required"},
    {"cuda", "conformance-cuda", "cuda:sm_90", "", "auto"}};

std::string folder() {
  const char *given = getenv("GRADC_CONFORMANCE_DIR");
  return given ? given : GRADC_TEST_ARTIFACTS;
}

class Conformance : public testing::TestWithParam<Kind> {
protected:
  void SetUp() override {
    const Kind &kind = GetParam();
    bool isSimulated = *kind.driver;
    setenv("GRADC_LIBCUDA", kind.driver, 1);
    setenv("GRADC_LIBRARIES", kind.libraries, 1);
    setenv("GRADC_LIBCUBLASLT", isSimulated ? GRADC_TEST_LIBCUBLASLT : "", 1);
    setenv("GRADC_LIBCUDNN", isSimulated ? GRADC_TEST_LIBCUDNN : "", 1);
    isHost = !*kind.level;
    bool isReal = !isHost && !isSimulated;
    auto made = isHost ? createHostDevice(2) : createCudaDevice();
    if (!made && isReal)
      GTEST_SKIP() << made.status().message();
    ASSERT_TRUE(made) << made.status().message();
    device = std::move(*made);
    std::string path = folder() + "/" + kind.artifact;
    if (isReal && !device->executes(kind.level))
      GTEST_SKIP() << "expected a GPU for " << kind.level << ", found " << device->describe();
    if (isReal && !getenv("GRADC_CONFORMANCE_DIR") && access(path.c_str(), F_OK) != 0)
      GTEST_SKIP() << path << " is not there: it is built where the CUDA toolkit is";
    auto opened = Artifact::open(path);
    ASSERT_TRUE(opened) << opened.status().message();
    artifact = *opened;
    session = open(kind.level);
  }

  std::unique_ptr<Session> open(const std::string &level) {
    std::string wanted = level;
    if (level.empty())
      wanted = std::string(artifact->string(artifact->levels().front().name));
    auto made = Session::create(artifact, {1, wanted});
    EXPECT_TRUE(made) << made.status().message();
    return made ? std::move(*made) : nullptr;
  }

  /// Inputs of an entry: numbers, class labels, and scalars that only depend on `seed`.
  std::vector<std::vector<char>> inputsOf(const gradc_artifact_entry &entry, int seed) {
    std::vector<std::vector<char>> all;
    for (const auto &port : artifact->elements<gradc_artifact_port>(entry.inputs)) {
      std::vector<char> bytes(port.tensor.bytes);
      if (port.tensor.dtype == GRADC_F32)
        for (size_t i = 0; i < bytes.size() / 4; ++i) {
          float v = port.role == GRADC_ROLE_LEARNING_RATE ? 0.01f
                    : port.role == GRADC_ROLE_STEP        ? 1.0f
                                                          : std::sin(float(i + 1) * float(seed));
          std::memcpy(&bytes[4 * i], &v, 4);
        }
      if (port.tensor.dtype == GRADC_I64)
        for (size_t i = 0; i < bytes.size() / 8; ++i) {
          int64_t v = (int64_t(i) + seed) % std::max<int64_t>(port.classes, 1);
          std::memcpy(&bytes[8 * i], &v, 8);
        }
      all.push_back(bytes);
    }
    return all;
  }

  /// All outputs of an entry, concatenated.
  std::vector<float> run(Session &on, const char *name, int seed) {
    const gradc_artifact_entry *entry = on.findEntry(name);
    EXPECT_TRUE(entry) << name;
    auto given = inputsOf(*entry, seed);
    std::vector<const void *> inputs;
    for (auto &bytes : given)
      inputs.push_back(bytes.data());
    std::vector<float> all;
    std::vector<std::vector<float>> results;
    std::vector<void *> outputs;
    for (const auto &port : artifact->elements<gradc_artifact_port>(entry->outputs))
      outputs.push_back(results.emplace_back(port.tensor.bytes / 4 + 1).data());
    Status ran = on.run(*entry, inputs, outputs);
    EXPECT_TRUE(ran.ok()) << ran.message();
    for (auto &result : results)
      all.insert(all.end(), result.begin(), result.end() - 1);
    return all;
  }

  std::vector<float> state(Session &of, uint32_t index) {
    std::vector<float> values(artifact->states()[index].tensor.bytes / 4);
    Status read = of.readState(index, values.data());
    EXPECT_TRUE(read.ok()) << read.message();
    return values;
  }

  static void expectNear(const std::vector<float> &found, const std::vector<float> &expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], 2e-5 * std::max(1.0f, std::abs(expected[i]))) << i;
  }

  bool isHost = false;
  std::shared_ptr<const Artifact> artifact;
  std::unique_ptr<Device> device;
  std::unique_ptr<Session> session;
};

TEST_P(Conformance, MemoryBeginsAsZerosAtMultiplesOf64) {
  for (uint64_t bytes : {1, 100, 5000, 3 << 20}) {
    DeviceMemory memory(*device, bytes);
    ASSERT_TRUE(memory.data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
    std::vector<char> host(bytes, 'x');
    ASSERT_TRUE(device->copyOut(host.data(), memory.data(), bytes).ok());
    ASSERT_TRUE(device->synchronize().ok());
    EXPECT_EQ(host, std::vector<char>(bytes, 0));
  }
}

TEST_P(Conformance, ACopyInTakesItsBytesAtOnce) {
  // Several times larger than a single copy through pinned memory.
  std::vector<int> first((9 << 20) / 4), second(first.size()), back(first.size());
  std::iota(first.begin(), first.end(), 1);
  std::iota(second.begin(), second.end(), 1000000);
  std::vector<int> expected = first;
  DeviceMemory a(*device, first.size() * 4), b(*device, first.size() * 4);
  ASSERT_TRUE(device->copyIn(a.data(), first.data(), a.size()).ok());
  std::fill(first.begin(), first.end(), -1);
  ASSERT_TRUE(device->copyIn(b.data(), second.data(), b.size()).ok());
  std::fill(second.begin(), second.end(), -1);
  ASSERT_TRUE(device->copyOut(back.data(), a.data(), a.size()).ok());
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(back, expected);
}

TEST_P(Conformance, ACopyBesideIsThereOnceSynchronized) {
  constexpr size_t count = (9 << 20) / 4;
  std::shared_ptr<HostMemory> memory = device->hostMemory();
  auto *kept = static_cast<int *>(memory->allocate(count * 4));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(kept) % 64, 0u);
  std::iota(kept, kept + count, 7);
  std::vector<int> other(count), back(count);
  std::iota(other.begin(), other.end(), 1000000);
  for (const int *host : {static_cast<const int *>(kept), static_cast<const int *>(other.data())}) {
    DeviceMemory to(*device, count * 4);
    ASSERT_TRUE(device->copyInBeside(to.data(), host, to.size()).ok());
    ASSERT_TRUE(device->synchronize().ok());
    ASSERT_TRUE(device->copyOut(back.data(), to.data(), to.size()).ok());
    ASSERT_TRUE(device->synchronize().ok());
    EXPECT_TRUE(std::equal(back.begin(), back.end(), host));
  }
  memory->release(kept);
}

TEST_P(Conformance, SmallCopiesOutMeetTheirOwnBytes) {
  DeviceMemory memory(*device, 64 * 200);
  std::vector<int> host(16 * 200), back(200, -1);
  std::iota(host.begin(), host.end(), 0);
  ASSERT_TRUE(device->copyIn(memory.data(), host.data(), memory.size()).ok());
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(device->copyOut(&back[size_t(i)], memory.data() + 64 * i, 4).ok());
  ASSERT_TRUE(device->synchronize().ok());
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(back[size_t(i)], 16 * i);
}

TEST_P(Conformance, SmallCopiesInMeetTheirOwnBytes) {
  // More copies than fit without waiting for each other.
  constexpr size_t count = 3000;
  DeviceMemory memory(*device, 4 * count);
  for (size_t i = 0; i < count; ++i) {
    int value = int(7 * i);
    ASSERT_TRUE(device->copyIn(memory.data() + 4 * i, &value, 4).ok());
  }
  std::vector<int> back(count, -1);
  ASSERT_TRUE(device->fetch(back.data(), memory.data(), memory.size()).ok());
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(back[i], int(7 * i));
}

TEST_P(Conformance, ASessionMovesBetweenThreads) {
  std::vector<float> expected[2] = {run(*session, "train", 1), run(*session, "train", 2)};
  std::unique_ptr<Session> moved;
  std::thread([&] { moved = open(GetParam().level); }).join();
  for (int seed : {1, 2})
    std::thread([&] { EXPECT_EQ(run(*moved, "train", seed), expected[seed - 1]); }).join();
  std::thread([&] { EXPECT_EQ(state(*moved, 0), state(*session, 0)); }).join();
  std::thread([&] { moved.reset(); }).join();
}

/// Other users of the GPU find their context unchanged.
TEST_P(Conformance, LeavesTheCallersContext) {
  if (isHost)
    GTEST_SKIP() << "the host has no contexts";
  run(*session, "train", 1);
  const char *driver = *GetParam().driver ? GetParam().driver : "libcuda.so.1";
  void *library = dlopen(driver, RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  auto getCurrent = reinterpret_cast<int (*)(void **)>(dlsym(library, "cuCtxGetCurrent"));
  ASSERT_TRUE(getCurrent);
  void *current = &library;
  EXPECT_EQ(getCurrent(&current), 0);
  EXPECT_EQ(current, nullptr);
  dlclose(library);
}

TEST_P(Conformance, EntriesGiveWhatTheHostGives) {
  auto host = open("");
  // Repeated: later runs replay a graph of an earlier run's launches on other inputs.
  for (int seed : {1, 2, 1, 2})
    expectNear(run(*session, "forward", seed), run(*host, "forward", seed));
  for (int seed : {3, 4, 5, 6})
    expectNear(run(*session, "train", seed), run(*host, "train", seed));
  for (uint32_t i = 0; i < artifact->states().size(); ++i)
    expectNear(state(*session, i), state(*host, i));
}

/// Buffers as in a loader: while a step reads one buffer, the next batch arrives in another.
TEST_P(Conformance, PrefetchedInputsAreThoseOfTheNextRun) {
  auto host = open("");
  const gradc_artifact_entry *entry = session->findEntry("train");
  std::shared_ptr<HostMemory> memory = session->hostMemory();
  constexpr int buffers = 3, steps = 7;
  std::vector<std::vector<void *>> kept(buffers);
  auto fill = [&](int step) {
    auto given = inputsOf(*entry, step + 1);
    std::vector<void *> &buffer = kept[size_t(step % buffers)];
    buffer.resize(given.size());
    std::vector<const void *> inputs;
    for (size_t i = 0; i < given.size(); ++i) {
      if (!buffer[i])
        buffer[i] = memory->allocate(given[i].size());
      std::memcpy(buffer[i], given[i].data(), given[i].size());
      inputs.push_back(buffer[i]);
    }
    return inputs;
  };
  std::vector<const void *> inputs = fill(0);
  PrefetchedInputs prefetched;
  for (int step = 0; step < steps; ++step) {
    std::vector<std::vector<float>> results;
    std::vector<void *> outputs;
    for (const auto &port : artifact->elements<gradc_artifact_port>(entry->outputs))
      outputs.push_back(results.emplace_back(port.tensor.bytes / 4 + 1).data());
    ASSERT_TRUE(session->start(*entry, inputs, outputs, entry->batch, prefetched).ok());
    inputs = fill(step + 1);
    prefetched = {};
    if (step != 3) { // this one comes with its run
      auto brought = session->prefetch(*entry, inputs, entry->batch);
      ASSERT_TRUE(brought) << brought.status().message();
      prefetched = *brought;
    }
    ASSERT_TRUE(session->finish().ok());
    EXPECT_TRUE(session->hasEnded());
    std::vector<float> all;
    for (auto &result : results)
      all.insert(all.end(), result.begin(), result.end() - 1);
    expectNear(all, run(*host, "train", step + 1));
  }
  for (auto &buffer : kept)
    for (void *one : buffer)
      memory->release(one);
}

/// One buffer for all batches: its content at the time of the prefetch differs from what the next
/// run is given.
TEST_P(Conformance, PrefetchedInputsServeOneRunThatIsToldOfThem) {
  auto host = open("");
  const gradc_artifact_entry *entry = session->findEntry("train");
  auto buffers = inputsOf(*entry, 0);
  std::vector<const void *> inputs;
  for (auto &bytes : buffers)
    inputs.push_back(bytes.data());
  float loss = 0;
  std::vector<void *> outputs(entry->outputs.count);
  outputs[0] = &loss;
  PrefetchedInputs first, none;
  for (int step = 1; step <= 3; ++step) {
    auto given = inputsOf(*entry, step);
    for (size_t i = 0; i < given.size(); ++i)
      std::memcpy(buffers[i].data(), given[i].data(), given[i].size());
    // The second run is not told about its inputs; the third is told about inputs that the second
    // run has dropped.
    ASSERT_TRUE(
        session->start(*entry, inputs, outputs, entry->batch, step == 3 ? first : none).ok());
    auto prefetched = session->prefetch(*entry, inputs, entry->batch);
    ASSERT_TRUE(prefetched) << prefetched.status().message();
    if (step == 1)
      first = *prefetched;
    ASSERT_TRUE(session->finish().ok());
    expectNear({loss}, {run(*host, "train", step)[0]});
  }
}

TEST_P(Conformance, TheSameBitsEveryTime) {
  std::vector<float> first = run(*session, "train", 1);
  ASSERT_TRUE(session->resetStates().ok());
  EXPECT_EQ(run(*session, "train", 1), first);
}

/// A smaller last batch after whole batches, for several epochs: each size has its own graphs.
TEST_P(Conformance, BatchesOfOtherSizesAreCapturedOnce) {
  auto host = open("");
  int64_t batch = session->findEntry("train")->batch;
  int (*captures)() = nullptr;
  if (*GetParam().driver) {
    void *driver = dlopen(GetParam().driver, RTLD_NOW);
    captures = reinterpret_cast<int (*)()>(dlsym(driver, "gradcSimulatedCaptures"));
    ASSERT_TRUE(captures);
  }
  auto loss = [&](Session &on, int64_t rows, int seed) {
    const gradc_artifact_entry *entry = on.findEntry("train");
    auto given = inputsOf(*entry, seed);
    std::vector<const void *> inputs;
    for (auto &bytes : given)
      inputs.push_back(bytes.data());
    std::vector<void *> outputs(entry->outputs.count);
    float result = 0;
    outputs[0] = &result;
    EXPECT_TRUE(on.start(*entry, inputs, outputs, rows, {}).ok());
    EXPECT_TRUE(on.finish().ok());
    return result;
  };
  int before = 0;
  for (int step = 0; step < 12; ++step) {
    int64_t rows = step % 3 == 2 ? 3 : batch;
    expectNear({loss(*session, rows, step)}, {loss(*host, rows, step)});
    if (captures && step == 5)
      before = captures();
  }
  if (captures)
    EXPECT_EQ(captures(), before);
}

TEST_P(Conformance, StatesAreReadAsTheyWereWritten) {
  for (uint32_t i = 0; i < artifact->states().size(); ++i) {
    std::vector<float> values(artifact->states()[i].tensor.bytes / 4);
    std::iota(values.begin(), values.end(), float(i));
    ASSERT_TRUE(session->writeState(i, values.data()).ok());
    EXPECT_EQ(state(*session, i), values) << i;
  }
}

/// Results are in one block, so that one copy transfers all of them.
TEST_P(Conformance, ResultsOfAStepLieSideBySide) {
  for (const char *name : {"train", "evaluate", "forward"}) {
    const gradc_artifact_entry *entry = session->findEntry(name);
    if (!entry)
      continue;
    auto ports = artifact->elements<gradc_artifact_port>(entry->outputs);
    ASSERT_FALSE(ports.empty()) << name;
    for (const auto &port : ports)
      EXPECT_EQ(port.slice.space, uint32_t(GRADC_SPACE_OUTPUT))
          << name << ' ' << artifact->string(port.tensor.name);
  }
}

TEST_P(Conformance, ProfiledLaunchesFollowEachOther) {
  session->profile(true);
  run(*session, "train", 1);
  const std::vector<int64_t> &times = session->lastProfile().times;
  ASSERT_EQ(times.size(), session->findEntry("train")->nodes.count + 1);
  for (size_t i = 1; i < times.size(); ++i)
    EXPECT_LE(times[i - 1], times[i]) << i;
  EXPECT_LT(times.front(), times.back());
}

TEST_P(Conformance, LaunchByLaunchGivesTheSameSlices) {
  const gradc_artifact_entry *entry = session->findEntry("forward");
  std::vector<float> expected = run(*session, "forward", 7);
  auto given = inputsOf(*entry, 7);
  std::vector<const void *> inputs;
  for (auto &bytes : given)
    inputs.push_back(bytes.data());
  ASSERT_TRUE(session->begin(*entry, inputs).ok());
  given.clear(); // begin has copied them
  for (uint32_t i = 0; i < entry->nodes.count; ++i)
    ASSERT_TRUE(session->runLaunch(i).ok());
  const auto &port = artifact->elements<gradc_artifact_port>(entry->outputs)[0];
  auto bytes = session->slice(port.slice);
  ASSERT_EQ(bytes.size(), expected.size() * 4);
  EXPECT_EQ(std::memcmp(bytes.data(), expected.data(), bytes.size()), 0);
}

INSTANTIATE_TEST_SUITE_P(Devices, Conformance, testing::ValuesIn(kinds),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
