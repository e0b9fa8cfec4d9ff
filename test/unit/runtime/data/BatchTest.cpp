// Batches: buffers return to the memory they came from, while it still exists; rows have names.
#include "runtime/data/stage/Stages.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <type_traits>
#include <utility>

using namespace gradc::runtime;

namespace {

// Moved from the loader to the step and back in each step.
static_assert(std::is_nothrow_move_constructible_v<Batch> &&
              std::is_nothrow_move_assignable_v<Batch>);
static_assert(sizeof(Batch) <= 128);

using Events = std::vector<std::string>;

/// Memory that records its allocations and releases.
class RecordedMemory final : public HostMemory {
public:
  explicit RecordedMemory(Events &events) : events(events) {}
  RecordedMemory(const RecordedMemory &) = delete;

  void *allocate(size_t bytes) override { return memory.allocate(bytes); }
  void release(void *buffer) override {
    events.push_back("released");
    memory.release(buffer);
  }
  /// Stays readable after the last owner is gone, so that a late release is detected.
  std::shared_ptr<HostMemory> share() {
    return {this, [this](HostMemory *) { events.push_back("gone"); }};
  }

private:
  Events &events;
  PageableMemory memory;
};

class BatchTest : public testing::Test {
protected:
  Batch make() { return Batch(fields, /*capacity=*/3, memory.share()); }

  std::vector<Field> fields = {{"images", GRADC_F32, {2, 2}}, {"labels", GRADC_I64, {}}};
  Events events;
  RecordedMemory memory{events};
  const Events inOrder = {"released", "released", "gone"};
};

TEST_F(BatchTest, MoveAssignmentFreesItsBuffersBeforeTheirMemory) {
  Events others;
  RecordedMemory otherMemory(others);
  Batch batch = make();
  batch = Batch(fields, 3, otherMemory.share());
  EXPECT_EQ(events, inOrder);
  EXPECT_EQ(others, Events());
  EXPECT_EQ(batch.fieldCount(), 2u);
}

TEST_F(BatchTest, AssigningAnEmptyBatchFreesItsBuffersBeforeTheirMemory) {
  Batch batch = make();
  batch = Batch();
  EXPECT_EQ(events, inOrder);
}

TEST_F(BatchTest, MoveConstructionTakesBuffersAlong) {
  {
    Batch batch = make();
    const std::byte *labels = batch.field(1);
    Batch taken = std::move(batch);
    EXPECT_EQ(taken.field(1), labels);
    EXPECT_EQ(events, Events());
  }
  EXPECT_EQ(events, inOrder);
}

TEST_F(BatchTest, SwappedBatchesFreeTheirOwn) {
  Events others;
  RecordedMemory otherMemory(others);
  {
    Batch other(fields, 3, otherMemory.share());
    {
      Batch batch = make();
      std::swap(batch, other);
    }
    EXPECT_EQ(others, inOrder);
    EXPECT_EQ(events, Events());
  }
  EXPECT_EQ(events, inOrder);
}

/// The numbers of its rows, which epochs visit from the last one on; counts how often an epoch is
/// ordered.
class Counted final : public Table {
public:
  std::span<const Field> fields() const override { return {&field, 1}; }
  int64_t rows() const override { return int64_t(all.size()); }
  void order(uint64_t epoch, std::vector<int64_t> &rows) const override {
    ++orders;
    rows.assign(all.rbegin(), all.rend());
    std::rotate(rows.begin(), rows.begin() + ptrdiff_t(epoch), rows.end());
  }
  Result<Value> view(size_t, RowRef row, Scratch &) const override {
    return Value{reinterpret_cast<const std::byte *>(&all[size_t(row.row)]), {}, 8};
  }
  std::string origin() const override { return "'counted'"; }

  mutable int orders = 0;

private:
  Field field = {"number", GRADC_I64, {}};
  std::vector<int64_t> all = {0, 1, 2, 3, 4, 5, 6};
};

/// Expects each row to be described by its number, which is its value.
void expectDescribed(const Dataset &dataset, const Batch &batch) {
  for (int64_t row = 0; row < batch.rows; ++row) {
    int64_t number;
    std::memcpy(&number, batch.field(0) + size_t(row) * sizeof number, sizeof number);
    EXPECT_EQ(dataset.describeRow(batch, row),
              "row " + std::to_string(number) + " (from 0) of 'counted'");
  }
}

TEST(DescribeRowTest, AnEpochIsOrderedOnceForAllItsRows) {
  auto table = std::make_shared<Counted>();
  LoaderOptions options;
  options.budget = 1 << 20;
  auto made = makeBatches(table, {.size = 3}, options);
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Dataset &dataset = **made;
  Batch batch = dataset.allocate();
  for (int epoch = 0; epoch < 2; ++epoch) {
    auto iterator = dataset.iterate();
    ASSERT_TRUE(iterator->restore({uint64_t(epoch), 0}).ok());
    int orders = 0; // for descriptions
    do {
      ASSERT_TRUE(iterator->next(batch).ok());
      int before = table->orders;
      expectDescribed(dataset, batch);
      orders += table->orders - before;
    } while (!batch.endsEpoch);
    EXPECT_EQ(orders, 1);
  }
}

/// Batches that begin between those of a whole epoch, because another size made the ones before,
/// leave out other rows at its end.
TEST(DescribeRowTest, AResumeBetweenBatchesIsDescribed) {
  auto table = std::make_shared<Counted>();
  LoaderOptions options;
  options.budget = 1 << 20;
  for (bool drops : {false, true}) {
    auto made = makeBatches(table, {.size = 3, .dropRemainder = drops}, options);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const Dataset &dataset = **made;
    Batch batch = dataset.allocate();
    for (uint64_t begin : {1, 2, 4}) {
      auto iterator = dataset.iterate();
      ASSERT_TRUE(iterator->restore({1, begin}).ok());
      do {
        ASSERT_TRUE(iterator->next(batch).ok());
        expectDescribed(dataset, batch);
      } while (!batch.endsEpoch);
    }
  }
}

} // namespace
