// The C interface, used as by a program that embeds a model.
#include "runtime/include/gradc/gradc.h"
#include "test/unit/runtime/TestModel.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace gradc::runtime::test;

namespace {

std::string temporary(const std::string &name) {
  return testing::TempDir() + name + "." + std::to_string(getpid());
}

class CApi : public testing::Test {
protected:
  void SetUp() override {
    blob = makeTestModel(options);
    ASSERT_EQ(gradc_open_memory(blob.data(), blob.size(), &model), GRADC_OK) << gradc_last_error();
    gradc_session_options options = {sizeof options, 2, nullptr};
    ASSERT_EQ(gradc_session_create(model, &options, &session), GRADC_OK) << gradc_last_error();
    gradc_close(model); // the session keeps what it needs
    ASSERT_EQ(gradc_open_memory(blob.data(), blob.size(), &model), GRADC_OK);
    for (size_t i = 0; i < 64 * 16; ++i)
      x[i] = std::sin(float(i));
  }
  void TearDown() override {
    gradc_session_free(session);
    gradc_close(model);
  }
  uint32_t entry(const char *name) {
    uint32_t found = ~0u;
    EXPECT_EQ(gradc_entry_find(session, name, &found), GRADC_OK) << gradc_last_error();
    return found;
  }
  std::vector<float> total() {
    std::vector<float> values(64 * 16);
    EXPECT_EQ(gradc_state_get(session, 0, values.data(), values.size() * 4), GRADC_OK);
    return values;
  }

  TestModelOptions options;
  Bytes blob;
  gradc_model *model = nullptr;
  gradc_session *session = nullptr;
  float x[64 * 16];
};

TEST_F(CApi, DescribesWhatItHas) {
  EXPECT_EQ(gradc_abi_version(), uint32_t(GRADC_ABI_VERSION));
  gradc_model_info info = {};
  info.size = sizeof info;
  ASSERT_EQ(gradc_model_describe(model, &info), GRADC_OK);
  EXPECT_EQ(info.model_hash, 42u);
  EXPECT_EQ(info.levels, 1u);
  EXPECT_EQ(info.states, 3u);
  EXPECT_EQ(info.trains, 1u);
  EXPECT_STREQ(gradc_level_name(model, 0), "x86-64-v3");
  EXPECT_EQ(gradc_level_name(model, 1), nullptr);
  EXPECT_STREQ(gradc_session_level(session), "x86-64-v3");
  EXPECT_EQ(gradc_entry_count(session), 7u);

  gradc_entry_info train = {};
  train.size = sizeof train;
  ASSERT_EQ(gradc_entry_describe(session, entry("train"), &train), GRADC_OK);
  EXPECT_STREQ(train.name, "train");
  EXPECT_EQ(train.batch, 64);
  EXPECT_EQ(train.inputs, 1u);
  EXPECT_EQ(train.outputs, 2u);
  EXPECT_EQ(train.launches, 3u);

  gradc_port_info port = {};
  port.size = sizeof port;
  ASSERT_EQ(gradc_input_describe(session, entry("train"), 0, &port), GRADC_OK);
  EXPECT_STREQ(port.name, "x");
  EXPECT_EQ(port.dtype, GRADC_F32);
  ASSERT_EQ(port.rank, 2u);
  EXPECT_EQ(port.shape[0], 64);
  EXPECT_EQ(port.shape[1], 16);
  EXPECT_EQ(port.bytes, 4096u);
  ASSERT_EQ(gradc_output_describe(session, entry("train"), 0, &port), GRADC_OK);
  EXPECT_EQ(port.role, GRADC_ROLE_LOSS);
  EXPECT_EQ(port.rank, 0u);

  gradc_state_info state = {};
  state.size = sizeof state;
  uint32_t weight = 0;
  ASSERT_EQ(gradc_state_find(session, "weight", &weight), GRADC_OK);
  ASSERT_EQ(gradc_state_describe(session, weight, &state), GRADC_OK);
  EXPECT_STREQ(state.name, "weight");
  EXPECT_EQ(state.kind, GRADC_STATE_PARAMETER);
  EXPECT_EQ(state.shape[1], 4);
  EXPECT_EQ(gradc_state_count(session), 3u);
}

// The struct of an older caller is shorter: the memory after it must stay untouched.
TEST_F(CApi, FillsNoMoreThanTheCallersStruct) {
  gradc_model_info info;
  std::memset(&info, 0x55, sizeof info);
  info.size = offsetof(gradc_model_info, levels);
  ASSERT_EQ(gradc_model_describe(model, &info), GRADC_OK);
  EXPECT_EQ(info.model_hash, 42u);
  EXPECT_EQ(info.levels, 0x55555555u);
  EXPECT_EQ(info.size, offsetof(gradc_model_info, levels));
  info.size = 0;
  EXPECT_EQ(gradc_model_describe(model, &info), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "expected the result's size to be set to sizeof of its struct");
}

TEST_F(CApi, RunsEntriesAndStates) {
  float loss = 0, doubled[64 * 16];
  const void *inputs[] = {x};
  void *outputs[] = {&loss, doubled};
  ASSERT_EQ(gradc_run(session, entry("train"), inputs, 1, outputs, 2), GRADC_OK);
  EXPECT_EQ(doubled[17], 2 * x[17] + 1);
  EXPECT_EQ(total()[17], doubled[17]);

  std::vector<float> weight(24, 3);
  ASSERT_EQ(gradc_state_set(session, 1, weight.data(), 96), GRADC_OK);
  std::vector<float> read(24);
  ASSERT_EQ(gradc_state_get(session, 1, read.data(), 96), GRADC_OK);
  EXPECT_EQ(read, weight);
  ASSERT_EQ(gradc_state_reset(session), GRADC_OK);
  EXPECT_EQ(total()[17], 0);
}

class CApiRows : public CApi {
protected:
  static constexpr float untouched = -7;
  void SetUp() override {
    options.anyRows = true;
    CApi::SetUp();
  }
  /// The message of a run of `rows` rows, which fails.
  std::string errorOf(const char *name, int64_t rows) {
    const void *inputs[] = {x, nullptr};
    float loss;
    void *outputs[] = {&loss, nullptr};
    bool some = name == std::string("some");
    EXPECT_EQ(gradc_run_rows(session, entry(name), rows, inputs, some ? 2 : 1, outputs, 2),
              GRADC_USAGE);
    return gradc_last_error();
  }
};

TEST_F(CApiRows, ARunTakesAnyRows) {
  for (int64_t rows : {64, 1, 7, 63, 0, 64}) {
    std::vector<float> some(x, x + rows * 16), doubled(64 * 16, untouched);
    float loss = -1, sum = 0;
    const void *inputs[] = {some.data(), nullptr};
    void *outputs[] = {doubled.data(), &loss};
    ASSERT_EQ(gradc_run_rows(session, entry("some"), rows, inputs, 2, outputs, 2), GRADC_OK)
        << gradc_last_error();
    for (int64_t i = 0; i < 64 * 16; ++i) {
      float expected = i < rows * 16 ? 2 * x[i] + float(i / 16) : untouched;
      ASSERT_EQ(doubled[i], expected) << rows << " rows, element " << i;
      sum += i < rows * 16 ? expected : 0;
    }
    EXPECT_EQ(loss, sum / float(rows ? rows : 1));
  }
}

class CApiBuckets : public CApi {
protected:
  void SetUp() override {
    options.anyRows = options.bucket = true;
    CApi::SetUp();
  }
};

TEST_F(CApiBuckets, FewRowsRunInTheSmallestBucketThatTakesThem) {
  for (int64_t rows : {64, 4, 1, 5, 0, 3}) {
    float doubled[64 * 16] = {}, loss;
    const void *inputs[] = {x, nullptr};
    void *outputs[] = {doubled, &loss};
    ASSERT_EQ(gradc_run_rows(session, entry("some"), rows, inputs, 2, outputs, 2), GRADC_OK)
        << gradc_last_error();
    for (int64_t i = 0; i < 64 * 16; ++i) {
      float once = 2 * x[i] + float(i / 16), twice = 2 * once + float(i / 16);
      ASSERT_EQ(doubled[i], i >= rows * 16 ? 0
                            : rows <= 4    ? twice
                                           : once)
          << rows << " rows, element " << i;
    }
  }
}

TEST_F(CApiRows, GradcRunTakesTheLargestBatch) {
  float loss[2] = {};
  const void *inputs[] = {x, nullptr};
  for (int i = 0; i < 2; ++i) {
    void *outputs[] = {nullptr, &loss[i]};
    ASSERT_EQ(i ? gradc_run(session, entry("some"), inputs, 2, outputs, 2)
                : gradc_run_rows(session, entry("some"), 64, inputs, 2, outputs, 2),
              GRADC_OK);
  }
  EXPECT_EQ(loss[0], loss[1]);
}

TEST_F(CApiRows, RefusesOtherRows) {
  EXPECT_EQ(errorOf("some", 65),
            "entry 'some' takes 0 to 64 rows, found 65: compile it for a larger batch");
  EXPECT_EQ(errorOf("some", -1), "entry 'some' takes 0 to 64 rows, found -1");
  EXPECT_EQ(errorOf("train", 63), "entry 'train' takes 64 rows, found 63");
}

TEST_F(CApiRows, DescribesThem) {
  gradc_entry_info info = {};
  info.size = sizeof info;
  ASSERT_EQ(gradc_entry_describe(session, entry("some"), &info), GRADC_OK);
  EXPECT_EQ(info.any_rows, 1u);
  EXPECT_STREQ(info.coupling_node, "n8"); // the mean over its rows
  ASSERT_EQ(gradc_entry_describe(session, entry("train"), &info), GRADC_OK);
  EXPECT_EQ(info.any_rows, 0u);
  EXPECT_STREQ(info.coupling_node, "");
  gradc_port_info port = {};
  port.size = sizeof port;
  ASSERT_EQ(gradc_input_describe(session, entry("some"), 0, &port), GRADC_OK);
  EXPECT_EQ(port.batched, 1u);
  ASSERT_EQ(gradc_output_describe(session, entry("some"), 1, &port), GRADC_OK);
  EXPECT_EQ(port.batched, 0u);
  // Older artifacts had a separate entry for the last batch.
  EXPECT_EQ(entry("some.tail"), entry("some"));
  uint32_t found = 0;
  EXPECT_EQ(gradc_entry_find(session, "train.tail", &found), GRADC_USAGE);
}

class CApiLeastRows : public CApiRows {
protected:
  void SetUp() override {
    options.leastRows = 2;
    CApiRows::SetUp();
  }
};

TEST_F(CApiLeastRows, NamesTheNodeThatNeedsMore) {
  EXPECT_EQ(errorOf("some", 1), "entry 'some' takes 2 to 64 rows, found 1: node \"bn\" divides by "
                                "one less than it counts");
}

TEST_F(CApi, RefusesWrongArguments) {
  uint32_t found = 0;
  EXPECT_EQ(gradc_entry_find(session, "fly", &found), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "no entry 'fly'");
  EXPECT_EQ(gradc_state_find(session, "fly", &found), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "no state 'fly'");
  float value = 0;
  EXPECT_EQ(gradc_state_get(session, 3, &value, 4), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "state 3 of 3");
  EXPECT_EQ(gradc_state_set(session, 1, &value, 4), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "expected 96 bytes, found 4");
  const void *inputs[] = {nullptr};
  void *outputs[] = {nullptr, nullptr};
  EXPECT_EQ(gradc_run(session, entry("train"), inputs, 1, outputs, 2), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "input 'x' is null");
  EXPECT_EQ(gradc_run(session, 7, inputs, 1, outputs, 2), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "entry 7 of 7");
  gradc_port_info port = {};
  port.size = sizeof port;
  EXPECT_EQ(gradc_input_describe(session, 0, 1, &port), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "input 1 of 1");
  gradc_session_options options = {sizeof options, 2, "z80"};
  gradc_session *other = nullptr;
  EXPECT_EQ(gradc_session_create(model, &options, &other), GRADC_USAGE);
  EXPECT_EQ(other, nullptr);
  gradc_model *none = nullptr;
  EXPECT_EQ(gradc_open("/no/such/file", &none), GRADC_ERROR);
  EXPECT_STREQ(gradc_last_error(), "/no/such/file: cannot open: No such file or directory");
  EXPECT_EQ(gradc_open(nullptr, &none), GRADC_INVALID); // this test program carries no artifact
}

TEST_F(CApi, ErrorsBelongToTheirThread) {
  gradc_model *none = nullptr;
  EXPECT_EQ(gradc_open("/no/such/file", &none), GRADC_ERROR);
  std::thread([] { EXPECT_STREQ(gradc_last_error(), ""); }).join();
  EXPECT_STREQ(gradc_last_error(), "/no/such/file: cannot open: No such file or directory");
}

TEST_F(CApi, RefusesLabelsOutOfRange) {
  TestModelOptions options;
  options.labels = true;
  Bytes labelled = makeTestModel(options);
  gradc_model *other = nullptr;
  gradc_session *run = nullptr;
  ASSERT_EQ(gradc_open_memory(labelled.data(), labelled.size(), &other), GRADC_OK);
  ASSERT_EQ(gradc_session_create(other, nullptr, &run), GRADC_OK) << gradc_last_error();
  int32_t labels[64] = {};
  const void *inputs[] = {labels};
  uint32_t classify = 0;
  ASSERT_EQ(gradc_entry_find(run, "classify", &classify), GRADC_OK);
  EXPECT_EQ(gradc_run(run, classify, inputs, 1, nullptr, 0), GRADC_OK);
  labels[7] = 10;
  EXPECT_EQ(gradc_run(run, classify, inputs, 1, nullptr, 0), GRADC_ERROR);
  EXPECT_STREQ(gradc_last_error(), "input 'labels': label 10 in element 7, expected 0 to 9");
  labels[7] = -1;
  EXPECT_EQ(gradc_begin(run, classify, inputs, 1), GRADC_ERROR);
  gradc_session_free(run);
  gradc_close(other);
}

TEST_F(CApi, TrainsStepByStepAndResumes) {
  std::string path = temporary("checkpoint");
  gradc_step_result result = {};
  result.size = sizeof result;
  const void *data[] = {x};
  ASSERT_EQ(gradc_train_step(session, data, 1, 0, 0.1f, &result), GRADC_OK) << gradc_last_error();
  ASSERT_EQ(gradc_train_step(session, data, 1, 64, 0, nullptr), GRADC_OK);
  EXPECT_EQ(result.step, 1);
  EXPECT_EQ(result.updated, 1u);
  EXPECT_TRUE(std::isnan(result.gradient_norm));
  EXPECT_EQ(gradc_session_step(session), 2);
  ASSERT_EQ(gradc_checkpoint_save(session, path.c_str()), GRADC_OK) << gradc_last_error();
  std::vector<float> after = total();

  ASSERT_EQ(gradc_state_reset(session), GRADC_OK);
  EXPECT_EQ(gradc_session_step(session), 0);
  ASSERT_EQ(gradc_checkpoint_load(session, path.c_str()), GRADC_OK) << gradc_last_error();
  EXPECT_EQ(gradc_session_step(session), 2);
  EXPECT_EQ(total(), after);

  EXPECT_EQ(gradc_train_step(session, data, 1, 5, 0, nullptr), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "expected a batch of 64 samples, found 5");
  EXPECT_EQ(gradc_train_step(session, data, 0, 0, 0, nullptr), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "expected 1 data inputs, found 0");
  unlink(path.c_str());
  EXPECT_EQ(gradc_checkpoint_load(session, path.c_str()), GRADC_ERROR);
  EXPECT_EQ(gradc_session_step(session), 2);
}

TEST_F(CApi, ExportsThePatchedModel) {
  std::string path = temporary("export");
  // [6, 4], followed by the initializer that is tied to its transpose.
  float weight[24], both[48];
  for (int i = 0; i < 24; ++i)
    weight[i] = both[i] = both[24 + i % 4 * 6 + i / 4] = float(-i);
  ASSERT_EQ(gradc_state_set(session, 1, weight, sizeof weight), GRADC_OK);
  ASSERT_EQ(gradc_export_onnx(session, path.c_str()), GRADC_OK) << gradc_last_error();
  Bytes written = readFile(path);
  ASSERT_EQ(written.size(), sizeof both);
  EXPECT_EQ(std::memcmp(written.data(), both, sizeof both), 0);
  unlink(path.c_str());
}

TEST_F(CApi, ProfilesLaunches) {
  const void *inputs[] = {x};
  void *outputs[2] = {};
  int64_t times[4] = {-1, -1, -1, -1};
  uint32_t train = entry("train");
  ASSERT_EQ(gradc_run(session, train, inputs, 1, outputs, 2), GRADC_OK) << gradc_last_error();
  std::vector<float> once = total();
  EXPECT_EQ(gradc_launch_times(session, times, 4), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(),
               "no call was profiled: gradc_session_profile and gradc_run come first");

  ASSERT_EQ(gradc_state_reset(session), GRADC_OK);
  ASSERT_EQ(gradc_session_profile(session, 1), GRADC_OK);
  auto now = [] {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  int64_t begin = now();
  ASSERT_EQ(gradc_run(session, train, inputs, 1, outputs, 2), GRADC_OK) << gradc_last_error();
  int64_t end = now();
  EXPECT_EQ(gradc_launch_times(session, times, 3), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "expected room for 4 times, found 3");
  ASSERT_EQ(gradc_launch_times(session, times, 4), GRADC_OK) << gradc_last_error();
  EXPECT_LE(begin, times[0]);
  for (int i = 0; i < 3; ++i)
    EXPECT_LE(times[i], times[i + 1]);
  EXPECT_LE(times[3], end);
  EXPECT_EQ(total(), once);

  ASSERT_EQ(gradc_session_profile(session, 0), GRADC_OK);
  ASSERT_EQ(gradc_run(session, train, inputs, 1, outputs, 2), GRADC_OK);
  EXPECT_EQ(gradc_launch_times(session, times, 4), GRADC_USAGE);
}

TEST_F(CApi, StepsLaunchByLaunch) {
  uint32_t train = entry("train");
  float row[64 * 16];
  EXPECT_EQ(gradc_launch(session, 0), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "no entry is begun: gradc_begin comes first");
  const void *inputs[] = {x};
  ASSERT_EQ(gradc_begin(session, train, inputs, 1), GRADC_OK);
  gradc_launch_info launch = {};
  launch.size = sizeof launch;
  ASSERT_EQ(gradc_launch_describe(session, train, 0, &launch), GRADC_OK);
  EXPECT_STREQ(launch.symbol, "double_rows");
  EXPECT_STREQ(launch.title, "double");
  EXPECT_STREQ(launch.node, "n1");
  EXPECT_EQ(launch.operands, 1u);
  EXPECT_EQ(launch.slices, 2u);
  gradc_slice_info slice = {};
  slice.size = sizeof slice;
  ASSERT_EQ(gradc_slice_describe(session, train, 0, 1, &slice), GRADC_OK);
  EXPECT_EQ(slice.space, GRADC_SPACE_ARENA);
  EXPECT_EQ(slice.bytes, sizeof row);
  ASSERT_EQ(gradc_launch(session, 0), GRADC_OK);
  ASSERT_EQ(gradc_slice_read(session, 0, 1, row, sizeof row), GRADC_OK);
  EXPECT_EQ(row[33], 2 * x[33] + 2);
  EXPECT_EQ(gradc_slice_read(session, 0, 2, row, sizeof row), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "slice 2 of 2");
  EXPECT_EQ(gradc_launch(session, 3), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "launch 3 of 3");
  total();
  EXPECT_EQ(gradc_launch(session, 1), GRADC_USAGE); // any other call has ended it
}

TEST_F(CApi, FindsNonFiniteValues) {
  std::fill(x, x + 64 * 16, 1.0f); // row 1: 1 / (2 + 1 - 3)
  const void *inputs[] = {x};
  gradc_non_finite found = {};
  found.size = sizeof found;
  ASSERT_EQ(gradc_find_non_finite(session, entry("invert"), inputs, 1, &found), GRADC_OK);
  EXPECT_STREQ(found.node, "n4");
  EXPECT_STREQ(found.kernel, "reciprocal");
  EXPECT_EQ(found.index, 16);
  EXPECT_TRUE(std::isinf(found.value));
}

TEST_F(CApi, SaysThatThereIsNoJob) {
  EXPECT_EQ(gradc_train(model, nullptr, nullptr), GRADC_INVALID);
  EXPECT_NE(std::string(gradc_last_error()).find("training spec"), std::string::npos);
}

// The library form
// ----------------------------------------------------------------------------------

std::string output(const std::string &command, int *exitCode) {
  std::string text;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  char buffer[4096];
  while (size_t count = fread(buffer, 1, sizeof buffer, pipe))
    text.append(buffer, count);
  *exitCode = WEXITSTATUS(pclose(pipe));
  return text;
}

/// A compiled model as a shared library, opened.
struct Library {
  std::string path;
  void *handle;

  explicit Library(const std::string &name, float weightStart) : path(temporary(name) + ".so") {
    TestModelOptions options;
    options.weightStart = weightStart;
    writeFile(path, withArtifact(readFile(GRADC_TEST_LIBRARY_RUNNER), makeTestModel(options)));
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle, nullptr) << dlerror();
  }
  ~Library() {
    dlclose(handle);
    unlink(path.c_str());
  }
  template <typename F> F *function(F *, const char *name) {
    return reinterpret_cast<F *>(dlsym(handle, name));
  }
};

float firstWeight(Library &library) {
#define FUNCTION(NAME) library.function(&NAME, #NAME)
  gradc_model *model = nullptr;
  gradc_session *session = nullptr;
  float weight[24] = {};
  EXPECT_EQ(FUNCTION(gradc_open)(nullptr, &model), GRADC_OK) << FUNCTION(gradc_last_error)();
  EXPECT_EQ(FUNCTION(gradc_session_create)(model, nullptr, &session), GRADC_OK);
  EXPECT_EQ(FUNCTION(gradc_state_get)(session, 1, weight, sizeof weight), GRADC_OK);
  FUNCTION(gradc_session_free)(session);
  FUNCTION(gradc_close)(model);
#undef FUNCTION
  return weight[0];
}

TEST(LibraryForm, TwoModelsLiveInOneProcess) {
  Library first("first", 11), second("second", 22);
  EXPECT_EQ(firstWeight(first), 11);
  EXPECT_EQ(firstWeight(second), 22);
  ASSERT_EQ(chdir("/"), 0);
  EXPECT_EQ(firstWeight(first), 11);
}

TEST(LibraryForm, ExportsTheCInterfaceAlone) {
  int code = 0;
  std::string symbols =
      output(GRADC_TEST_NM " -D --defined-only --format=posix " GRADC_TEST_LIBRARY_RUNNER, &code);
  ASSERT_EQ(code, 0) << symbols;
  size_t count = 0;
  for (size_t at = 0, end; (end = symbols.find('\n', at)) != std::string::npos; at = end + 1) {
    EXPECT_EQ(symbols.compare(at, 6, "gradc_"), 0) << symbols.substr(at, end - at);
    ++count;
  }
  EXPECT_GT(count, 25u);
}

TEST(LibraryForm, ServesACProgram) {
  std::string folder = temporary("embedded"), library = folder + "/libgradc-runner.so";
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  writeFile(library, withArtifact(readFile(GRADC_TEST_LIBRARY_RUNNER), makeTestModel()));
  int code = 0;
  std::string text = output("LD_LIBRARY_PATH=" + folder + " " GRADC_TEST_EMBED, &code);
  EXPECT_EQ(code, 0) << text;
  EXPECT_EQ(text, "step 1: loss 1008\nstep 2: loss 1008\ntotal[16] = 2\n");
  unlink(library.c_str());
  rmdir(folder.c_str());
}

// The executable form
// -------------------------------------------------------------------------------

TEST(ExecutableForm, SaysThatItCarriesNothing) {
  int code = 0;
  std::string text = output(GRADC_TEST_RUNNER, &code);
  EXPECT_EQ(code, GRADC_INVALID);
  EXPECT_NE(text.find("not a gradc artifact"), std::string::npos) << text;
}

TEST(ExecutableForm, IsATrainer) {
  std::string path = temporary("trainer");
  writeFile(path, withArtifact(readFile(GRADC_TEST_RUNNER), makeTestModel()));
  int code = 0;
  std::string text = output(path + " --help", &code);
  EXPECT_EQ(code, 0) << text;
  EXPECT_NE(text.find("--steps"), std::string::npos) << text;
  text = output(path + " --no-such-option", &code);
  EXPECT_EQ(code, GRADC_USAGE) << text;
  unlink(path.c_str());
}

} // namespace
