// The fixture of tests of the C interface: a session on the test model.
#ifndef TEST_UNIT_RUNTIME_CORE_CAPI_CAPITESTING_H
#define TEST_UNIT_RUNTIME_CORE_CAPI_CAPITESTING_H

#include "runtime/include/gradc/gradc.h"
#include "test/unit/runtime/TestModel.h"

#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace gradc::runtime::test {

inline std::string temporary(const std::string &name) {
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

} // namespace gradc::runtime::test

#endif
