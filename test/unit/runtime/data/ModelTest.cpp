// Models after batch, run on many threads concurrently with the states and kernels of one session.
#include "test/unit/runtime/TestModel.h"
#include "test/unit/runtime/data/DataTesting.h"

#include "runtime/core/Session.h"

#include <cmath>
#include <cstring>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// 200 rows x f32 [16], and a session whose entry "invert" computes out = 1 / (2 x + row - 3) for
/// 64 rows.
class ModelTest : public testing::Test {
protected:
  ModelTest() : blob(makeTestModel()) {
    session = std::move(*Session::create(*Artifact::fromMemory(blob), {2, ""}));
    std::vector<float> x(200 * 16);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i % 1000) * 0.25f;
    writeFile(folder / "x.npy", npy("<f4", "(200, 16)", bytesOf(x)));
    context.folders = {folder.path};
    context.demands = {{"out", "in", GRADC_F32, {16}}};
    context.seed = 3;
    context.tailAllowed = false;
    auto host = session->onHost();
    EXPECT_EQ(*host, session.get()); // it exists already
    context.models = *host;
  }

  static std::string chain(std::string_view entry, std::string_view more = "") {
    return "source { npy { field { name: \"x\" path: \"x.npy\" } } } shuffle { } batch { size: 64 "
           "} "
           "map { model { file: \"m.onnx\" entry: \"" +
           std::string(entry) + "\" } } prefetch { depth: 3 } " + std::string(more);
  }

  /// The values of the given number of batches.
  std::vector<float> take(std::string_view data, int batches) {
    JobText job(data);
    auto set = makeDataset(job.root(), context);
    EXPECT_TRUE(set.ok()) << set.status().message();
    auto iterator = (*set)->iterate();
    Batch batch = (*set)->allocate();
    std::vector<float> all;
    for (int i = 0; i < batches; ++i) {
      EXPECT_TRUE(iterator->next(batch).ok());
      auto values = reinterpret_cast<const float *>(batch.field(0));
      all.insert(all.end(), values, values + batch.rows * 16);
    }
    report = iterator->report();
    return all;
  }

  Bytes blob;
  std::unique_ptr<Session> session;
  TemporaryFolder folder;
  DataContext context;
  InputReport report;
};

TEST_F(ModelTest, AnyNumberOfThreadsMakesTheSameBatches) {
  // The same rows without the model.
  context.demands = {{"x", "in", GRADC_F32, {16}}};
  std::vector<float>
      rows = take(
          "source { npy { field { name: \"x\" path: \"x.npy\" } } } shuffle { } batch { size: 64 }",
          7),
      expected(rows.size());
  for (size_t i = 0; i < rows.size(); ++i)
    expected[i] = 1.0f / (rows[i] * 2 + float(i / 16 % 64) - 3.0f);
  context.demands = {{"out", "in", GRADC_F32, {16}}};
  for (int threads : {0, 1, 2, 4}) {
    auto found = take(chain("invert", "parallelism: " + std::to_string(threads)), 7);
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)), 0)
        << threads << " threads";
  }
}

TEST_F(ModelTest, WhatItMakesIsMixedBehindIt) {
  // Rows of both fields in the first batch.
  auto first = [&](std::string_view more) {
    std::vector<std::vector<float>> fields;
    context.demands = {{"out", "in", GRADC_F32, {16}}, {"x", "also", GRADC_F32, {16}}};
    for (size_t field : {0, 1})
      fields.push_back(firstBatch<float>(chain("invert", more), context, field));
    return fields;
  };
  auto plain = first(""), mixed = first("mix { field: \"out\" label: \"x\" mixup { } }");
  // The share of its own that the first row keeps; the other is the last row's.
  size_t last = plain[1].size() - 16;
  float kept = (mixed[1][0] - plain[1][last]) / (plain[1][0] - plain[1][last]);
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 1);
  for (size_t i = 0; i < plain[0].size(); ++i) {
    size_t before = i < 16 ? last + i : i - 16;
    float expected = kept * plain[0][i] + (1 - kept) * plain[0][before];
    if (std::isfinite(expected)) { // the model divides by zero, too
      EXPECT_NEAR(mixed[0][i], expected, 1e-4f) << i;
    }
  }
}

TEST_F(ModelTest, IsMeasuredWhereTheCallerMakesBatches) {
  std::string data = chain("invert"), ahead = "prefetch { depth: 3 }";
  data.erase(data.find(ahead), ahead.size());
  take(data, 3);
  EXPECT_EQ(report.workers, 0);
  std::vector<std::string> names;
  for (const StageTime &stage : report.stages)
    names.push_back(stage.name);
  EXPECT_EQ(names, (std::vector<std::string>{"source npy", "model 'm.onnx'"}));
}

} // namespace
