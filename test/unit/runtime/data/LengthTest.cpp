// Batches of rows of similar length.
#include "runtime/data/load/LengthBuckets.h"
#include "runtime/include/gradc/data.h"
#include "test/unit/runtime/data/DataTesting.h"

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

TEST(LengthBuckets, FullBatchesComeWhenTheyAreFullAndTheRestLast) {
  LengthBuckets buckets;
  buckets.buckets = {{2, 3, 4}, {8, 2, 5}};
  buckets.ofRow = {0, 1, 0, 1, 1, 0, 1, 0, 1};
  std::vector<int64_t> order = {8, 0, 2, 4, 7, 5, 3, 1, 6};
  EXPECT_EQ(buckets.group(order, /*dropsRest=*/false), (std::vector<size_t>{2, 5, 7, 8, 9}));
  EXPECT_EQ(order, (std::vector<int64_t>{8, 4, 0, 2, 7, 3, 1, 5, 6}));
  EXPECT_EQ(buckets.batches(false), 5);
  order = {8, 0, 2, 4, 7, 5, 3, 1, 6};
  EXPECT_EQ(buckets.group(order, /*dropsRest=*/true), (std::vector<size_t>{2, 5, 7}));
  EXPECT_EQ(order, (std::vector<int64_t>{8, 4, 0, 2, 7, 3, 1}));
  EXPECT_EQ(buckets.batches(true), 3);
  EXPECT_EQ(buckets.rest(), 2);
  EXPECT_EQ(buckets.largestSize(), 3);
}

/// Seven rows of 3, 0, 2, 4, 1, 4, and 1 tokens: 10 and so on.
class LengthTest : public testing::Test {
protected:
  LengthTest() {
    context.folders = {folder.path};
    context.seed = 5;
    context.demands = {{"tokens", "t", GRADC_I64, {4}}, {"mask", "m", GRADC_F32, {4}}};
    std::vector<int64_t> tokens(15);
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = 10 + int64_t(i);
    writeFile(
        folder / "r.npz",
        zip({{"tokens.npy", npy("<i8", "(15,)", bytesOf(tokens))},
             {"ends.npy", npy("<i8", "(8,)", bytesOf<int64_t>({0, 3, 3, 5, 9, 10, 14, 15}))}}));
  }

  static std::string data(std::string_view before, std::string_view batch) {
    return "source { npz { path: \"r.npz\" ragged { field: \"tokens\" offsets: \"ends\" } } } "
           "map { field: \"tokens\" pad { shape: 4 value: -1 mask: \"mask\" } } " +
           std::string(before) + " batch { " + std::string(batch) + " }";
  }

  /// The first problem that the block's description reports.
  std::string problemOf(std::string_view data) {
    JobText job(data);
    std::string found;
    gradc_data_listener listener = {};
    listener.self = &found;
    listener.problem = [](void *self, uint32_t, const char *message) {
      auto &found = *static_cast<std::string *>(self);
      found = found.empty() ? message : found;
    };
    listener.described = [](void *, const gradc_data_shape *) {};
    (void)gradc_data_describe(job.tree(), job.text(), folder.path.c_str(), &listener);
    return found;
  }

  TemporaryFolder folder;
  DataContext context;
};

constexpr const char *byTwo = "size: 2 bucket { length: 2 size: 3 }";

/// The values of a batch's first field, with the length of its bucket.
std::vector<int64_t> tokensOf(const Dataset &dataset, const Batch &batch) {
  auto *values = reinterpret_cast<const int64_t *>(batch.field(0));
  return {values, values + dataset.rowElements(batch, 0) * size_t(batch.rows)};
}

TEST_F(LengthTest, BatchesAreCutToTheirLength) {
  auto dataset = build(data("", byTwo), context);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_EQ((*dataset)->batchesPerEpoch(), 4);
  EXPECT_EQ((*dataset)->batchSize(), 3);
  EXPECT_EQ((*dataset)->sizesOf(0).full, 3);
  EXPECT_EQ((*dataset)->sizesOf(0).rest, 1);
  EXPECT_EQ((*dataset)->sizesOf(1).full, 2);
  EXPECT_EQ((*dataset)->sizesOf(1).rest, 1);
  Batch batch = (*dataset)->allocate();
  auto iterator = (*dataset)->iterate();
  std::vector<std::vector<int64_t>> found;
  std::vector<size_t> buckets;
  for (int i = 0; i < 4; ++i) {
    Status status = iterator->next(batch);
    ASSERT_TRUE(status.ok()) << status.message();
    found.push_back(tokensOf(**dataset, batch));
    buckets.push_back(batch.bucket);
    EXPECT_EQ((*dataset)->batchesBefore(iterator->position()), (i + 1) % 4);
    EXPECT_EQ(batch.endsEpoch, i == 3);
  }
  EXPECT_EQ(
      found,
      (std::vector<std::vector<int64_t>>{
          {10, 11, 12, -1, 15, 16, 17, 18}, {-1, -1, 13, 14, 19, -1}, {24, -1}, {20, 21, 22, 23}}));
  EXPECT_EQ(buckets, (std::vector<size_t>{1, 0, 0, 1}));
  EXPECT_EQ((*dataset)->describeRow(batch, 0), "row 5 (from 0) of '" + (folder / "r.npz") + "'");
  ASSERT_TRUE(iterator->restore({0, 2}).ok());
  ASSERT_TRUE(iterator->next(batch).ok());
  EXPECT_EQ(tokensOf(**dataset, batch), found[1]);
  auto *mask = reinterpret_cast<const float *>(batch.field(1));
  EXPECT_EQ(std::vector<float>(mask, mask + 6), (std::vector<float>{0, 0, 1, 1, 1, 0}));
}

/// Three rows of 1, 2, and 4 tokens, and of 2, 0, and 1 labels.
TEST_F(LengthTest, FieldsThatDoNotCountKeepTheirOwnLength) {
  context.demands = {{"tokens", "t", GRADC_I64, {4}}, {"labels", "l", GRADC_I64, {2}}};
  writeFile(folder / "speech.npz",
            zip({{"tokens.npy", npy("<i8", "(7,)", bytesOf<int64_t>({10, 11, 12, 13, 14, 15, 16}))},
                 {"ends.npy", npy("<i8", "(4,)", bytesOf<int64_t>({0, 1, 3, 7}))},
                 {"labels.npy", npy("<i8", "(3,)", bytesOf<int64_t>({5, 6, 7}))},
                 {"at.npy", npy("<i8", "(4,)", bytesOf<int64_t>({0, 2, 2, 3}))}}));
  auto dataset = build("source { npz { path: \"speech.npz\" "
                       "ragged { field: \"tokens\" offsets: \"ends\" } "
                       "ragged { field: \"labels\" offsets: \"at\" } } } "
                       "map { field: \"tokens\" pad { shape: 4 value: -1 } } "
                       "map { field: \"labels\" pad { shape: 2 value: -1 } } "
                       "batch { size: 2 bucket { length: 2 } by: \"tokens\" }",
                       context);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  Batch batch = (*dataset)->allocate();
  auto iterator = (*dataset)->iterate();
  std::vector<std::vector<int64_t>> tokens, labels;
  for (int i = 0; i < 2; ++i) {
    Status status = iterator->next(batch);
    ASSERT_TRUE(status.ok()) << status.message();
    tokens.push_back(tokensOf(**dataset, batch));
    ASSERT_EQ((*dataset)->rowElements(batch, 1), 2u);
    auto *values = reinterpret_cast<const int64_t *>(batch.field(1));
    labels.emplace_back(values, values + 2 * batch.rows);
  }
  EXPECT_EQ(tokens, (std::vector<std::vector<int64_t>>{{10, -1, 11, 12}, {13, 14, 15, 16}}));
  EXPECT_EQ(labels, (std::vector<std::vector<int64_t>>{{5, 6, -1, -1}, {7, -1}}));
}

TEST_F(LengthTest, TheRestIsDropped) {
  auto dataset = build(data("", std::string(byTwo) + " drop_remainder: true"), context);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  EXPECT_EQ((*dataset)->batchesPerEpoch(), 2);
  EXPECT_EQ((*dataset)->sizesOf(0).rest, 0);
  EXPECT_EQ((*dataset)->droppedRows(), 2);
  EXPECT_EQ((*dataset)->rows(), 5);
  EXPECT_EQ(buildError(data("", "size: 6 drop_remainder: true bucket { length: 1 }"), context),
            "'" + (folder / "r.npz") + "' gives 7 rows, which fill no batch of any bucket");
}

TEST_F(LengthTest, ShuffledEpochsAreTheSameFromAnyPosition) {
  auto dataset = build(data("shuffle {}", byTwo), context);
  ASSERT_TRUE(dataset.ok()) << dataset.status().message();
  Batch batch = (*dataset)->allocate();
  auto whole = (*dataset)->iterate();
  for (int i = 0; i < 9; ++i) {
    Position before = whole->position();
    ASSERT_TRUE(whole->next(batch).ok());
    std::vector<int64_t> expected = tokensOf(**dataset, batch);
    auto resumed = (*dataset)->iterate();
    ASSERT_TRUE(resumed->restore(before).ok());
    ASSERT_TRUE(resumed->next(batch).ok());
    EXPECT_EQ(tokensOf(**dataset, batch), expected) << "batch " << i;
  }
}

TEST_F(LengthTest, SaysWhatCannotBe) {
  EXPECT_EQ(problemOf(data("", std::string(byTwo) + " } on_error: \"SKIP\" prefetch { ")),
            "batch makes batches by length, expected on_error: FAIL: the length of a row that "
            "cannot be read is not known");
  writeFile(folder / "two.npz", zip({{"ends.npy", npy("<i8", "(3,)", bytesOf<int64_t>({0, 1, 2}))},
                                     {"a.npy", npy("<i8", "(2,)", bytesOf<int64_t>({5, 6}))},
                                     {"b.npy", npy("<i8", "(2,)", bytesOf<int64_t>({7, 8}))}}));
  EXPECT_EQ(problemOf("source { npz { path: \"two.npz\" ragged { field: \"a\" offsets: \"ends\" } "
                      "ragged { field: \"b\" offsets: \"ends\" } } } "
                      "map { field: \"a\" pad { shape: 4 } } map { field: \"b\" pad { shape: 5 } } "
                      "batch { size: 1 bucket { length: 2 } }"),
            "batch makes batches by length, expected fields that are padded to one length, found "
            "'a' of 4 and 'b' of 5; by: \"a\" makes batches by the first alone");
  std::string padded = "source { npz { path: \"two.npz\" ragged { field: \"a\" offsets: \"ends\" } "
                       "} } map { field: \"a\" pad { shape: 4 } } ";
  EXPECT_EQ(problemOf(padded + "batch { size: 1 bucket { length: 2 } by: \"c\" }"),
            "batch { by } is 'c', expected a field that map { pad } makes of one length");
  EXPECT_EQ(problemOf(padded + "batch { size: 1 by: \"a\" }"),
            "batch { by } is for buckets: add bucket { length: 32 }");
}

} // namespace
