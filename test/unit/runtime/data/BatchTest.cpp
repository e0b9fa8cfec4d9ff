// Batches: buffers return to the memory they came from, while it still exists.
#include "runtime/data/Dataset.h"

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

} // namespace
