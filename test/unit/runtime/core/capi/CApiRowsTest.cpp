// Runs on any number of rows through the C interface.
#include "test/unit/runtime/core/capi/CApiTesting.h"

using namespace gradc::runtime::test;

namespace {

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

TEST_F(CApiRows, AnEntryWithoutABatchTakesNoRows) {
  EXPECT_EQ(errorOf("pack:weight", 5), "entry 'pack:weight' has no batch, so it takes no number of "
                                       "rows, found 5: run it by gradc_run");
  const void *inputs[] = {x};
  EXPECT_EQ(gradc_run_rows(session, entry("pack:weight"), 0, inputs, 1, nullptr, 0), GRADC_OK);
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

} // namespace
