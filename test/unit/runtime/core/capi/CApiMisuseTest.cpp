// The C interface, called wrongly: every such call is an error with a message, and changes nothing.
#include "test/unit/runtime/core/capi/CApiTesting.h"

#include <cstdint>
#include <limits>

using namespace gradc::runtime::test;

namespace {

class CApiMisuse : public CApi {
protected:
  void expectUsage(gradc_status status, const std::string &message) {
    EXPECT_EQ(status, GRADC_USAGE) << message;
    EXPECT_EQ(gradc_last_error(), message);
  }
};

TEST_F(CApiMisuse, NullHandles) {
  gradc_model_info info = {.size = sizeof info};
  gradc_session *made = nullptr;
  float rate = 0;
  expectUsage(gradc_open("any", nullptr), "model is null");
  expectUsage(gradc_open_memory(blob.data(), blob.size(), nullptr), "model is null");
  gradc_model *opened = nullptr;
  expectUsage(gradc_open_memory(nullptr, 4096, &opened), "bytes is null");
  expectUsage(gradc_open_memory(blob.data() + 1, blob.size() - 1, &opened),
              "expected the bytes at an address that is a multiple of 8");
  EXPECT_EQ(opened, nullptr);
  expectUsage(gradc_model_describe(nullptr, &info), "model is null");
  expectUsage(gradc_session_create(nullptr, nullptr, &made), "model is null");
  expectUsage(gradc_session_create(model, nullptr, nullptr), "session is null");
  expectUsage(gradc_learning_rate(nullptr, nullptr, &rate), "model is null");
  expectUsage(gradc_momentum(nullptr, nullptr, &rate), "model is null");
  expectUsage(gradc_train(nullptr, nullptr, nullptr), "model is null");
  EXPECT_EQ(gradc_level_name(nullptr, 0), nullptr);

  const void *inputs[] = {x};
  void *outputs[] = {nullptr, nullptr};
  uint32_t number = 0;
  int64_t times[4];
  gradc_entry_info entryInfo = {.size = sizeof entryInfo};
  gradc_port_info port = {.size = sizeof port};
  gradc_state_info state = {.size = sizeof state};
  gradc_launch_path path = {.size = sizeof path};
  gradc_launch_info launch = {.size = sizeof launch};
  gradc_slice_info slice = {.size = sizeof slice};
  gradc_non_finite found = {.size = sizeof found};
  for (gradc_status status : {gradc_session_set_seed(nullptr, 1),
                              gradc_entry_find(nullptr, "train", &number),
                              gradc_entry_describe(nullptr, 0, &entryInfo),
                              gradc_input_describe(nullptr, 0, 0, &port),
                              gradc_output_describe(nullptr, 0, 0, &port),
                              gradc_run(nullptr, 0, inputs, 1, outputs, 2),
                              gradc_run_rows(nullptr, 0, 1, inputs, 1, outputs, 2),
                              gradc_state_find(nullptr, "weight", &number),
                              gradc_state_describe(nullptr, 0, &state),
                              gradc_state_get(nullptr, 0, x, 4),
                              gradc_state_set(nullptr, 0, x, 4),
                              gradc_state_reset(nullptr),
                              gradc_train_step(nullptr, inputs, 1, 0, 0, nullptr),
                              gradc_train_step_with(nullptr, nullptr, inputs, 1, nullptr),
                              gradc_checkpoint_save(nullptr, "any"),
                              gradc_checkpoint_load(nullptr, "any"),
                              gradc_export_onnx(nullptr, "any"),
                              gradc_session_profile(nullptr, 1),
                              gradc_launch_times(nullptr, times, 4),
                              gradc_launch_run(nullptr, 0, &path),
                              gradc_launch_describe(nullptr, 0, 0, &launch),
                              gradc_slice_describe(nullptr, 0, 0, 0, &slice),
                              gradc_begin(nullptr, 0, inputs, 1),
                              gradc_next(nullptr, &path),
                              gradc_launch(nullptr, 0),
                              gradc_slice_read(nullptr, 0, 0, x, 4),
                              gradc_find_non_finite(nullptr, 0, inputs, 1, &found)})
    expectUsage(status, "session is null");
  EXPECT_EQ(gradc_session_level(nullptr), nullptr);
  EXPECT_EQ(gradc_session_step(nullptr), 0);
  EXPECT_EQ(gradc_entry_count(nullptr), 0u);
  EXPECT_EQ(gradc_state_count(nullptr), 0u);
  EXPECT_EQ(gradc_launches_run(nullptr), 0u);
}

TEST_F(CApiMisuse, NullTensorsAndResults) {
  const void *inputs[] = {x};
  void *outputs[] = {nullptr, nullptr};
  uint32_t train = entry("train");
  uint32_t found = 0;
  expectUsage(gradc_entry_find(session, "train", nullptr), "entry is null");
  expectUsage(gradc_entry_find(session, nullptr, &found), "name is null");
  expectUsage(gradc_state_find(session, "weight", nullptr), "state is null");
  expectUsage(gradc_state_find(session, nullptr, &found), "name is null");
  expectUsage(gradc_run(session, train, nullptr, 1, outputs, 2), "inputs is null");
  expectUsage(gradc_run(session, train, inputs, 1, nullptr, 2), "outputs is null");
  expectUsage(gradc_begin(session, train, nullptr, 1), "inputs is null");
  expectUsage(gradc_train_step(session, nullptr, 1, 0, 0, nullptr), "data is null");
  expectUsage(gradc_state_get(session, 1, nullptr, 96), "value is null");
  expectUsage(gradc_state_set(session, 1, nullptr, 96), "value is null");
  expectUsage(gradc_launch_times(session, nullptr, 4), "times is null");
  expectUsage(gradc_learning_rate(model, nullptr, nullptr), "learning_rate is null");
  expectUsage(gradc_momentum(model, nullptr, nullptr), "momentum is null");
  ASSERT_EQ(gradc_begin(session, train, inputs, 1), GRADC_OK);
  expectUsage(gradc_slice_read(session, 0, 0, nullptr, 64 * 16 * 4), "value is null");

  gradc_step_options options = {.size = sizeof options, .rate_count = 3};
  expectUsage(gradc_train_step_with(session, &options, inputs, 1, nullptr),
              "rates is null, and rate_count is 3");
  gradc_train_options job = {.size = sizeof job, .field_count = 2};
  expectUsage(gradc_train(model, &job, nullptr), "fields is null, and field_count is 2");
}

// A refused call does not end the entry that was begun.
TEST_F(CApiMisuse, NullPaths) {
  const void *inputs[] = {x};
  ASSERT_EQ(gradc_begin(session, entry("train"), inputs, 1), GRADC_OK);
  expectUsage(gradc_checkpoint_save(session, nullptr), "path is null");
  expectUsage(gradc_checkpoint_load(session, nullptr), "path is null");
  expectUsage(gradc_export_onnx(session, nullptr), "path is null");
  EXPECT_EQ(gradc_launch(session, 0), GRADC_OK) << gradc_last_error();
}

// A step that is refused has not trained.
TEST_F(CApiMisuse, NothingRunsBeforeTheArgumentsAreChecked) {
  const std::string size = "expected the result's size to be set to sizeof of its struct";
  const void *data[] = {x};
  gradc_step_result result = {};
  expectUsage(gradc_train_step(session, data, 1, 0, 0, &result), size);
  gradc_non_finite found = {};
  expectUsage(gradc_find_non_finite(session, entry("train"), data, 1, &found), size);
  gradc_train_result trained = {};
  expectUsage(gradc_train(model, nullptr, &trained), size);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  expectUsage(gradc_train_step(session, data, 1, 0, infinity, nullptr),
              "the learning rate is inf, expected a finite number");
  gradc_group_rate rate = {sizeof rate, "any", infinity};
  gradc_step_options options = {.size = sizeof options, .rates = &rate, .rate_count = 1};
  expectUsage(gradc_train_step_with(session, &options, data, 1, nullptr),
              "the learning rate of group 'any' is inf, expected a finite number");
  EXPECT_EQ(gradc_session_step(session), 0);
  EXPECT_EQ(total(), std::vector<float>(64 * 16));
}

// Programs may pass any of these for the rate of the job.
TEST_F(CApiMisuse, RatesNotAboveZeroAreNotRefused) {
  const void *data[] = {x};
  ASSERT_EQ(gradc_train_step(session, data, 1, 0, 0, nullptr), GRADC_OK) << gradc_last_error();
  std::vector<float> once = total();
  for (float rate : {-1.0f, -std::numeric_limits<float>::infinity(), std::nanf("")}) {
    ASSERT_EQ(gradc_state_reset(session), GRADC_OK);
    gradc_step_options options = {.size = sizeof options, .learning_rate = rate};
    EXPECT_EQ(gradc_train_step_with(session, &options, data, 1, nullptr), GRADC_OK)
        << gradc_last_error();
    EXPECT_EQ(total(), once);
  }
}

TEST_F(CApiMisuse, LengthsBelowZero) {
  gradc_train_options options = {.size = sizeof options, .steps = -1};
  expectUsage(gradc_train(model, &options, nullptr),
              "steps is -1, expected 1 or more, or 0 for the job's");
  options.steps = 0;
  options.epochs = -2;
  expectUsage(gradc_train(model, &options, nullptr),
              "epochs is -2, expected 1 or more, or 0 for the job's");
}

} // namespace
