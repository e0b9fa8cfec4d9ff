// The C interface, used as by a program that embeds a model.
#include "test/unit/runtime/core/capi/CApiTesting.h"

#include <chrono>
#include <cstring>
#include <sys/wait.h>
#include <thread>

using namespace gradc::runtime::test;

namespace {

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

TEST_F(CApi, DerivedStatesAreNoStates) {
  Bytes changed = blob;
  auto *header = reinterpret_cast<gradc_artifact_header *>(changed.data());
  auto *states = reinterpret_cast<gradc_artifact_state *>(changed.data() + header->states.offset);
  states[2].kind = GRADC_STATE_DERIVED; // no entry reads it
  states[2].places.count = 0;
  sealHash(changed);
  gradc_model *derived = nullptr;
  ASSERT_EQ(gradc_open_memory(changed.data(), changed.size(), &derived), GRADC_OK)
      << gradc_last_error();
  gradc_model_info info = {};
  info.size = sizeof info;
  EXPECT_EQ(gradc_model_describe(derived, &info), GRADC_OK);
  EXPECT_EQ(info.states, 2u);
  gradc_session *own = nullptr;
  ASSERT_EQ(gradc_session_create(derived, nullptr, &own), GRADC_OK) << gradc_last_error();
  EXPECT_EQ(gradc_state_count(own), 2u);
  float value[3];
  EXPECT_EQ(gradc_state_get(own, 2, value, sizeof value), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "state 2 of 2");
  gradc_session_free(own);
  gradc_close(derived);
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

TEST_F(CApi, RefusesWrongArguments) {
  uint32_t found = 0;
  EXPECT_EQ(gradc_entry_find(session, "fly", &found), GRADC_USAGE);
  EXPECT_STREQ(gradc_last_error(), "no entry 'fly', expected one of 'train', 'invert', 'weigh', "
                                   "'tiny' and 'identity'");
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

// A fork has none of the session's threads, and frees the session without waiting for them.
TEST_F(CApi, RunsInAForkedProcess) {
  float doubled[64 * 16];
  const void *inputs[] = {x};
  void *outputs[] = {nullptr, doubled};
  uint32_t train = entry("train");
  ASSERT_EQ(gradc_run(session, train, inputs, 1, outputs, 2), GRADC_OK) << gradc_last_error();
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool isRight = true;
    for (int i = 0; i < 100; ++i) {
      doubled[17] = 0;
      isRight &= gradc_run(session, train, inputs, 1, outputs, 2) == GRADC_OK &&
                 doubled[17] == 2 * x[17] + 1;
    }
    gradc_session_free(session);
    _exit(isRight ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(gradc_run(session, train, inputs, 1, outputs, 2), GRADC_OK) << gradc_last_error();
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

} // namespace
