// Ranks take parts of the batches of one process: disjoint, complete, and as even as possible.
#include "runtime/base/Text.h"
#include "test/unit/runtime/data/DataTesting.h"

#include <algorithm>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

constexpr size_t steps = 14;

class RankShareTest : public testing::TestWithParam<std::tuple<int, std::string_view>> {
protected:
  RankShareTest() {
    context.folders = {folder.path};
    context.demands = digitsDemands();
    context.seed = 3;
    std::vector<Member> members = digits(23);
    writeFile(folder / "digits.npz", zip(members));
  }

  std::shared_ptr<const Dataset> dataset(RankShare share) {
    context.share = share;
    auto built = build(text("source { npz { path: \"digits.npz\" } } map { field: \"images\" cast: "
                            "F32 } shuffle { } ",
                            std::get<1>(GetParam())),
                       context);
    EXPECT_TRUE(built.ok()) << built.status().message();
    return *built;
  }

  TemporaryFolder folder;
  DataContext context;
};

TEST(RankShare, UnitsStayWhole) {
  int64_t end = 0;
  for (int rank = 0; rank < 3; ++rank) {
    RankShare share{rank, 3, 4};
    EXPECT_EQ(share.begin(32), end);
    end = share.end(32);
    EXPECT_EQ(end % 4, 0);
    EXPECT_GE(end - share.begin(32), share.least(32));
    EXPECT_LE(end - share.begin(32), share.most(32));
  }
  EXPECT_EQ(end, 32);
  EXPECT_EQ((RankShare{0, 3, 4}.least(32)), 8);
  EXPECT_EQ((RankShare{0, 3, 4}.most(32)), 12);
}

TEST_P(RankShareTest, BatchesAreThoseOfOneProcess) {
  int ranks = std::get<0>(GetParam());
  auto whole = dataset({});
  auto alone = whole->iterate();
  std::vector<std::shared_ptr<const Dataset>> parts;
  std::vector<std::unique_ptr<Iterator>> iterators;
  for (int rank = 0; rank < ranks; ++rank) {
    parts.push_back(dataset({rank, ranks}));
    iterators.push_back(parts.back()->iterate());
    EXPECT_EQ(parts.back()->batchSize(), whole->batchSize());
    EXPECT_EQ(parts.back()->batchesPerEpoch(), whole->batchesPerEpoch());
  }
  Batch expected = whole->allocate();
  for (size_t step = 0; step < steps; ++step) {
    ASSERT_TRUE(alone->next(expected).ok());
    std::vector<float> together;
    int64_t least = expected.rows, most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      Batch batch = parts[size_t(rank)]->allocate();
      ASSERT_TRUE(iterators[size_t(rank)]->next(batch).ok());
      EXPECT_EQ(batch.allRows, expected.rows);
      EXPECT_EQ(batch.firstRow, int64_t(together.size()));
      EXPECT_EQ(batch.after, expected.after);
      EXPECT_EQ(batch.endsEpoch, expected.endsEpoch);
      // If bad rows are skipped, rows cannot be named.
      bool isNamed = !whole->describeRow(expected, 0).ends_with("batch");
      for (int64_t row = 0; isNamed && row < batch.rows; ++row)
        EXPECT_EQ(parts[size_t(rank)]->describeRow(batch, row),
                  whole->describeRow(expected, batch.firstRow + row));
      std::vector<float> pixels = firstPixels(batch);
      together.insert(together.end(), pixels.begin(), pixels.end());
      least = std::min(least, batch.rows);
      most = std::max(most, batch.rows);
    }
    EXPECT_EQ(together, firstPixels(expected)) << "step " << step;
    EXPECT_LE(most - least, 1);
  }
}

// The position counts rows of all ranks.
TEST_P(RankShareTest, ADifferentNumberOfRanksGoesOnWithTheNextRow) {
  auto whole = dataset({});
  auto alone = whole->iterate();
  Batch expected = whole->allocate();
  for (size_t step = 0; step < 3; ++step)
    ASSERT_TRUE(alone->next(expected).ok());
  Position position = alone->position();
  ASSERT_TRUE(alone->next(expected).ok());
  int ranks = std::get<0>(GetParam());
  std::vector<float> together;
  for (int rank = 0; rank < ranks; ++rank) {
    auto part = dataset({rank, ranks});
    auto iterator = part->iterate();
    ASSERT_TRUE(iterator->restore(position).ok());
    Batch batch = part->allocate();
    ASSERT_TRUE(iterator->next(batch).ok());
    std::vector<float> pixels = firstPixels(batch);
    together.insert(together.end(), pixels.begin(), pixels.end());
  }
  EXPECT_EQ(together, firstPixels(expected));
}

// 23 rows in batches of 5: the last batch of an epoch has 3, so one of 4 ranks has none.
INSTANTIATE_TEST_SUITE_P(Ranks, RankShareTest,
                         testing::Combine(testing::Values(1, 2, 3, 4, 8),
                                          testing::Values("batch { size: 5 }",
                                                          "batch { size: 5 } prefetch { depth: 3 }",
                                                          "batch { size: 7 drop_remainder: true }",
                                                          "batch { size: 4 } parallelism: 2",
                                                          "batch { size: 5 } on_error: SKIP")));

} // namespace
