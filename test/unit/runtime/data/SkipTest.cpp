// Rows that cannot be read, and the effect of on_error on them; the budget of batches.
#include "test/unit/runtime/data/DataTesting.h"

#include "runtime/base/Text.h"
#include "runtime/data/stage/Stages.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// Numbers from 0 in one field; some rows cannot be read.
class Flawed : public Table {
public:
  Flawed(int64_t count, std::set<int64_t> bad) : count(count), bad(std::move(bad)) {}

  std::span<const Field> fields() const override { return {&field, 1}; }
  int64_t rows() const override { return count; }
  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    rows.clear();
    for (int64_t row = 0; row < count; ++row)
      rows.push_back((row + int64_t(epoch)) % count);
  }
  Result<Value> view(size_t, RowRef row, Scratch &scratch) const override {
    if (bad.contains(row.row))
      return Status::error(text(describeRow(row.row, noField), " is bad"));
    ScratchSlot &slot = scratch.slot(0);
    std::byte *data = slot.reserve(sizeof row.row);
    std::memcpy(data, &row.row, sizeof row.row);
    return Value{data, {}, sizeof row.row};
  }
  std::string origin() const override { return "'flawed'"; }

private:
  Field field = {"number", GRADC_I64, {}};
  int64_t count;
  std::set<int64_t> bad;
};

/// An epoch of all rows, and later epochs that contain the bad rows again.
class Worsening final : public Flawed {
public:
  Worsening() : Flawed(7, {4, 5, 6}) {}
  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    rows = epoch == 0 ? std::vector<int64_t>{0, 1, 4, 5, 6, 2, 3}
                      : std::vector<int64_t>{4, 5, 6, 4, 5, 6, 0};
  }
};

struct Seen {
  std::vector<int64_t> rows;
  Position after;
  bool endsEpoch;
  int64_t skipped;
  bool operator==(const Seen &) const = default;
};

class SkipTest : public testing::Test {
protected:
  static std::shared_ptr<const Dataset> dataset(int64_t rows, std::set<int64_t> bad, int64_t batch,
                                                int threads, int depth = 4) {
    LoaderOptions options;
    options.budget = size_t(1) << 20;
    options.limits.workers = threads;
    options.limits.depth = depth;
    auto set = makeBatches(std::make_shared<Flawed>(rows, std::move(bad)),
                           {.size = batch, .skips = true}, options);
    EXPECT_TRUE(set.ok()) << set.status().message();
    return *set;
  }

  static std::vector<Seen> take(Iterator &iterator, const Dataset &dataset, size_t count,
                                std::vector<std::string> *complaints = nullptr) {
    std::vector<Seen> seen;
    Batch batch = dataset.allocate();
    for (size_t i = 0; i < count; ++i) {
      Status status = iterator.next(batch);
      EXPECT_TRUE(status.ok()) << status.message();
      auto *numbers = reinterpret_cast<const int64_t *>(batch.field(0));
      seen.push_back(
          {{numbers, numbers + batch.rows}, batch.after, batch.endsEpoch, batch.skipped});
      if (complaints)
        complaints->insert(complaints->end(), batch.complaints.begin(), batch.complaints.end());
    }
    return seen;
  }
};

TEST_F(SkipTest, ABadRowIsAsIfItWereNotThere) {
  for (int threads : {0, 1, 3}) {
    auto set = dataset(10, {2, 3, 8}, 3, threads);
    std::vector<std::string> complaints;
    auto seen = take(*set->iterate(), *set, 4, &complaints);
    // Epoch 0 visits 0 1 4 5 6 7 9; epoch 1 begins with row 1 and ends with row 0.
    EXPECT_EQ(seen[0], (Seen{{0, 1, 4}, {0, 5}, false, 2}));
    EXPECT_EQ(seen[1], (Seen{{5, 6, 7}, {1, 0}, true, 0}));
    EXPECT_EQ(seen[2], (Seen{{1, 4, 5}, {1, 5}, false, 2}));
    EXPECT_EQ(seen[3], (Seen{{6, 7, 9}, {2, 0}, true, 1}));
    std::sort(complaints.begin(), complaints.end());
    EXPECT_EQ(complaints, (std::vector<std::string>{"row 2 (from 0) of 'flawed' is bad",
                                                    "row 3 (from 0) of 'flawed' is bad",
                                                    "row 8 (from 0) of 'flawed' is bad"}));
  }
}

TEST_F(SkipTest, TheLastBatchIsKnownAsSuchWhereBadRowsLeaveNoOther) {
  // Rows 0 to 5 fill two batches; of rows 6 to 9, only two can be read.
  for (int threads : {0, 2}) {
    auto set = dataset(10, {7, 8}, 3, threads);
    auto seen = take(*set->iterate(), *set, 3);
    EXPECT_FALSE(seen[0].endsEpoch);
    EXPECT_TRUE(seen[1].endsEpoch);
    EXPECT_EQ(seen[1].after, (Position{1, 0}));
    EXPECT_EQ(seen[2].rows, (std::vector<int64_t>{1, 2, 3}));
  }
}

TEST_F(SkipTest, TheSameBatchesWithAnyThreadsAndAfterAnyResume) {
  std::set<int64_t> bad;
  for (int64_t row = 0; row < 500; ++row)
    if (row % 7 == 3 || row % 31 < 2)
      bad.insert(row);
  auto reference = dataset(500, bad, 16, 0, 1);
  auto expected = take(*reference->iterate(), *reference, 150);
  for (int threads : {1, 2, 4})
    for (int depth : {2, 5}) {
      auto set = dataset(500, bad, 16, threads, depth);
      EXPECT_EQ(take(*set->iterate(), *set, 150), expected);
      for (size_t begin : {1u, 9u, 50u}) {
        auto iterator = set->iterate();
        ASSERT_TRUE(iterator->restore(expected[begin - 1].after).ok());
        auto rest = take(*iterator, *set, 40);
        EXPECT_TRUE(std::equal(rest.begin(), rest.end(), expected.begin() + ptrdiff_t(begin)));
      }
    }
}

TEST_F(SkipTest, TooFewGoodRowsForABatch) {
  for (int threads : {0, 2}) {
    auto set = dataset(6, {0, 1, 2, 4}, 3, threads);
    Batch batch = set->allocate();
    Status status = set->iterate()->next(batch);
    EXPECT_EQ(status.message(), "an epoch of 'flawed' has fewer rows that can be read than a batch "
                                "of 3: 4 are bad; row 0 (from 0) of 'flawed' is bad");
  }
}

TEST_F(SkipTest, ALaterEpochWithTooFewGoodRows) {
  for (int threads : {0, 2}) {
    LoaderOptions options;
    options.limits.workers = threads;
    options.limits.depth = 4;
    auto set = makeBatches(std::make_shared<Worsening>(), {.size = 2, .skips = true}, options);
    ASSERT_TRUE(set.ok());
    auto iterator = (*set)->iterate();
    auto seen = take(*iterator, **set, 2);
    EXPECT_EQ(seen[1].rows, (std::vector<int64_t>{2, 3}));
    Batch batch = (*set)->allocate();
    for (int again = 0; again < 2; ++again)
      EXPECT_EQ(iterator->next(batch).message(),
                "an epoch of 'flawed' has fewer rows that can be read than a batch of 2: 3 are "
                "bad; row 4 (from 0) of 'flawed' is bad");
  }
}

TEST_F(SkipTest, FailIsTheDefault) {
  auto set = makeBatches(std::make_shared<Flawed>(6, std::set<int64_t>{4}), {.size = 3}, {});
  ASSERT_TRUE(set.ok());
  auto iterator = (*set)->iterate();
  Batch batch = (*set)->allocate();
  EXPECT_TRUE(iterator->next(batch).ok());
  EXPECT_EQ(iterator->next(batch).message(), "row 4 (from 0) of 'flawed' is bad");
}

TEST_F(SkipTest, TheBudgetLimitsHowFarAhead) {
  LoaderOptions options;
  options.limits.workers = 1;
  options.limits.depth = 60;
  options.budget = 10 * 128;
  auto set = makeBatches(std::make_shared<Flawed>(600, std::set<int64_t>{}), {.size = 8}, options);
  ASSERT_TRUE(set.ok());
  auto iterator = (*set)->iterate();
  EXPECT_EQ(iterator->report().depth, 9); // and the step's own
  options.heldBatches = 2;
  auto two = makeBatches(std::make_shared<Flawed>(600, std::set<int64_t>{}), {.size = 8}, options);
  ASSERT_TRUE(two.ok());
  EXPECT_EQ((*two)->iterate()->report().depth, 8);
  options.budget = 128;
  auto none = makeBatches(std::make_shared<Flawed>(600, std::set<int64_t>{}), {.size = 8}, options);
  EXPECT_EQ(none.status().message(), "data { memory_mb } allows 0 MB, expected at least 1: 3 "
                                     "batches of 8 rows of 16 bytes");
}

} // namespace
