// Prefetch: batches are made while the caller works on the current one.
#include "runtime/data/load/Loader.h"
#include "runtime/data/stage/Stages.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <gtest/gtest.h>
#include <mutex>

using namespace gradc::runtime;

namespace {

/// Numbers from 0 in one field; records when rows are requested.
class Watched final : public Table {
public:
  std::span<const Field> fields() const override { return {&field, 1}; }
  int64_t rows() const override { return 10; }
  void order(uint64_t, std::vector<int64_t> &rows) const override {
    rows.clear();
    for (int64_t row = 0; row < 10; ++row)
      rows.push_back(row);
  }
  Result<Value> view(size_t, RowRef row, Scratch &scratch) const override {
    std::byte *data = scratch.slot(0).reserve(sizeof row.row);
    std::memcpy(data, &row.row, sizeof row.row);
    {
      std::lock_guard lock(mutex);
      ++asked;
    }
    changed.notify_all();
    return Value{data, {}, sizeof row.row};
  }
  std::string origin() const override { return "'watched'"; }

  /// Waits until `rows` rows have been requested in total; returns false if none was requested for
  /// a minute.
  bool waitFor(int64_t rows) const {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::minutes(1), [&] { return asked >= rows; });
  }

private:
  Field field = {"number", GRADC_I64, {}};
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  mutable int64_t asked = 0;
};

class PrefetchTest : public testing::TestWithParam<int> {};

TEST_P(PrefetchTest, MakesBatchesWhileTheCallerIsBusy) {
  constexpr int64_t size = 2;
  int depth = GetParam();
  auto table = std::make_shared<Watched>();
  LoaderOptions options;
  options.limits = {.workers = 1, .depth = depth};
  options.budget = size_t(1) << 20;
  auto set = makeBatches(table, {.size = size}, options);
  ASSERT_TRUE(set) << set.status().message();
  auto iterator = (*set)->iterate();
  Batch batch = (*set)->allocate();
  for (int64_t step = 0; step < 12; ++step) {
    ASSERT_TRUE(iterator->next(batch).ok());
    // The caller makes no rows here, so requests come from other threads.
    ASSERT_TRUE(table->waitFor((step + 1 + depth) * size)) << "step " << step;
    int64_t first;
    std::memcpy(&first, batch.field(0), sizeof first);
    EXPECT_EQ(first, step * size % 10);
  }
}

// Deeper rings hand over batches in groups; while a group is in use, fewer batches are ahead.
INSTANTIATE_TEST_SUITE_P(Depths, PrefetchTest, testing::Values(1, 2, 3));

} // namespace
