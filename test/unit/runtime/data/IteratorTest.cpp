// Iterators: batches and remainders, save and restore at every position, prefetch.
#include "test/unit/runtime/data/DataTesting.h"

#include <cstring>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// Everything that a caller can observe of a batch.
struct Seen {
  std::vector<float> pixels;
  std::vector<int64_t> labels;
  Position after;
  bool endsEpoch;
  bool operator==(const Seen &) const = default;
};

Seen look(const Batch &batch) {
  Seen seen{firstPixels(batch), {}, batch.after, batch.endsEpoch};
  auto *labels = reinterpret_cast<const int64_t *>(batch.field(1));
  seen.labels.assign(labels, labels + batch.rows);
  return seen;
}

class IteratorTest : public testing::Test {
protected:
  IteratorTest() {
    context.folders = {folder.path};
    context.demands = digitsDemands();
    context.seed = 3;
    writeFile(folder / "digits.npz", zip(digits(23)));
  }

  std::shared_ptr<const Dataset> dataset(std::string_view batch) {
    auto built =
        build("source { npz { path: \"digits.npz\" } } map { field: \"images\" cast: F32 } "
              "shuffle { } " +
                  std::string(batch),
              context);
    EXPECT_TRUE(built.ok()) << built.status().message();
    return *built;
  }

  static std::vector<Seen> take(Iterator &iterator, const Dataset &dataset, size_t count) {
    std::vector<Seen> seen;
    Batch batch = dataset.allocate();
    for (size_t i = 0; i < count; ++i) {
      EXPECT_TRUE(iterator.next(batch).ok());
      EXPECT_EQ(iterator.position(), batch.after);
      seen.push_back(look(batch));
    }
    return seen;
  }

  TemporaryFolder folder;
  DataContext context;
};

TEST_F(IteratorTest, RemainderIsASmallerBatch) {
  auto set = dataset("batch { size: 5 }");
  EXPECT_EQ(set->rows(), 23);
  EXPECT_EQ(set->batchesPerEpoch(), 5);
  EXPECT_EQ(set->tailSize(), 3);
  EXPECT_EQ(set->droppedRows(), 0);
  auto seen = take(*set->iterate(), *set, 6);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(seen[i].pixels.size(), i == 4 ? 3u : 5u);
    EXPECT_EQ(seen[i].endsEpoch, i == 4);
  }
  EXPECT_EQ(seen[3].after, (Position{0, 20}));
  EXPECT_EQ(seen[4].after, (Position{1, 0}));
}

TEST_F(IteratorTest, RemainderIsDroppedWhenAskedOrWhenNothingTakesIt) {
  auto check = [](const Dataset &set) {
    EXPECT_EQ(set.rows(), 20);
    EXPECT_EQ(set.batchesPerEpoch(), 4);
    EXPECT_EQ(set.tailSize(), 0);
    EXPECT_EQ(set.droppedRows(), 3);
    auto seen = take(*set.iterate(), set, 5);
    EXPECT_TRUE(seen[3].endsEpoch);
    EXPECT_EQ(seen[4].pixels.size(), 5u);
  };
  check(*dataset("batch { size: 5 drop_remainder: true }"));
  context.tailAllowed = false;
  check(*dataset("batch { size: 5 }"));
}

TEST_F(IteratorTest, BuffersAreAligned) {
  auto set = dataset("batch { size: 3 }");
  Batch batch = set->allocate();
  for (size_t field = 0; field < batch.fieldCount(); ++field)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(batch.field(field)) % 64, 0u);
}

TEST_F(IteratorTest, RestoreAtEveryPositionGivesTheSameBatches) {
  for (const char *stages : {"batch { size: 5 }", "batch { size: 5 drop_remainder: true }",
                             "batch { size: 23 }", "batch { size: 5 } prefetch { depth: 3 }"}) {
    auto set = dataset(stages);
    auto all = take(*set->iterate(), *set, 12);
    for (size_t begin = 0; begin < 12; ++begin) {
      auto iterator = set->iterate();
      take(*iterator, *set, begin);
      Position saved = iterator->position();
      auto resumed = set->iterate();
      take(*resumed, *set, begin % 4); // from any position
      ASSERT_TRUE(resumed->restore(saved).ok());
      EXPECT_EQ(resumed->position(), saved);
      auto rest = take(*resumed, *set, 12 - begin);
      EXPECT_TRUE(std::equal(rest.begin(), rest.end(), all.begin() + ptrdiff_t(begin))) << begin;
    }
  }
}

TEST_F(IteratorTest, RestoreOutsideTheEpoch) {
  auto set = dataset("batch { size: 5 }");
  EXPECT_EQ(set->iterate()->restore({0, 23}).message(),
            "cannot go on at row 23 of an epoch: '" + (folder / "digits.npz") + "' gives 23 rows");
}

// Batches of another size may have ended in rows that these batches leave out.
TEST_F(IteratorTest, RestoreInDroppedRowsGoesOnWithTheNextEpoch) {
  auto set = dataset("batch { size: 5 drop_remainder: true }");
  auto all = take(*set->iterate(), *set, 12); // of 4 batches an epoch
  for (uint64_t row : {20, 22}) {
    auto iterator = set->iterate();
    ASSERT_TRUE(iterator->restore({0, row}).ok());
    EXPECT_EQ(iterator->position(), (Position{0, row}));
    auto rest = take(*iterator, *set, 8);
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), all.begin() + 4)) << row;
  }
  EXPECT_EQ(set->iterate()->restore({0, 23}).message(),
            "cannot go on at row 23 of an epoch: '" + (folder / "digits.npz") + "' gives 23 rows");
}

TEST_F(IteratorTest, AnyNumberOfThreadsMakesTheSameBatches) {
  auto plain = dataset("batch { size: 5 }");
  auto expected = take(*plain->iterate(), *plain, 200);
  for (const char *threads : {"", "parallelism: 1 ", "parallelism: 3 "})
    for (const char *depth : {"1", "2", "7"}) {
      auto set =
          dataset("batch { size: 5 } prefetch { depth: " + std::string(depth) + " } " + threads);
      EXPECT_EQ(set->batchesPerEpoch(), plain->batchesPerEpoch());
      EXPECT_EQ(take(*set->iterate(), *set, 200), expected);
    }
}

TEST_F(IteratorTest, RestoresWhileThreadsAreAhead) {
  auto plain = dataset("batch { size: 5 }");
  auto expected = take(*plain->iterate(), *plain, 20);
  auto set = dataset("batch { size: 5 } prefetch { depth: 4 } parallelism: 2");
  auto iterator = set->iterate();
  for (size_t round = 0; round < 10; ++round) {
    take(*iterator, *set, round);
    ASSERT_TRUE(iterator->restore({0, 10}).ok());
    auto again = take(*iterator, *set, 5);
    EXPECT_TRUE(std::equal(again.begin(), again.end(), expected.begin() + 2));
  }
}

TEST_F(IteratorTest, EndsWithItsThreadsAnywhere) {
  auto set = dataset("batch { size: 5 } prefetch { depth: 2 } parallelism: 2");
  for (size_t count : {0, 1, 2, 5})
    take(*set->iterate(), *set, count);
}

TEST_F(IteratorTest, PassesAnErrorOnWhereItHappens) {
  auto members = digits(20);
  std::vector<int64_t> labels(20);
  labels[12] = labels[13] = labels[17] = 99;
  members[1].content = npy("<i8", "(20,)", bytesOf(labels));
  writeFile(folder / "digits.npz", zip(members));
  for (const char *how :
       {"", "prefetch { depth: 4 } parallelism: 1", "prefetch { depth: 4 } parallelism: 3"}) {
    auto set = build("source { npz { path: \"digits.npz\" } } map { field: \"images\" cast: F32 } "
                     "batch { size: 5 } " +
                         std::string(how),
                     context);
    ASSERT_TRUE(set.ok());
    auto iterator = (*set)->iterate();
    Batch batch = (*set)->allocate();
    EXPECT_TRUE(iterator->next(batch).ok());
    EXPECT_TRUE(iterator->next(batch).ok());
    for (int again = 0; again < 3; ++again)
      EXPECT_NE(iterator->next(batch).message().find("label 99 in row 12"), std::string::npos);
    EXPECT_EQ(iterator->position(), (Position{0, 10}));
    ASSERT_TRUE(iterator->restore({0, 5}).ok());
    EXPECT_TRUE(iterator->next(batch).ok());
    EXPECT_FALSE(iterator->next(batch).ok());
  }
}

} // namespace
