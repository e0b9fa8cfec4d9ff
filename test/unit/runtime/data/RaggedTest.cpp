// Rows of varying length: cut from one array, padded, with masks and lengths.
#include "test/unit/runtime/data/DataTesting.h"

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

class RaggedTest : public testing::Test {
protected:
  RaggedTest() {
    context.folders = {folder.path};
    context.seed = 3;
    write({0, 3, 3, 5});
  }

  /// Writes tokens 10 to 15 and a pair for each, in rows that end at `offsets`.
  void write(const std::vector<int64_t> &offsets) {
    std::string rows = "(" + std::to_string(offsets.size()) + ",)";
    writeFile(
        folder / "r.npz",
        zip({{"tokens.npy", npy("<i8", "(5,)", bytesOf<int64_t>({10, 11, 12, 13, 14}))},
             {"pairs.npy", npy("<f4", "(5, 2)", bytesOf<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}))},
             {"ends.npy", npy("<i8", rows, bytesOf(offsets))}}));
  }

  static std::string data(std::string_view maps, std::string_view behind = "batch { size: 3 }") {
    return "source { npz { path: \"r.npz\" ragged { field: \"tokens\" offsets: \"ends\" } "
           "ragged { field: \"pairs\" offsets: \"ends\" } } } " +
           std::string(maps) + std::string(behind);
  }

  /// A field of all rows of the first batch.
  template <typename T> std::vector<T> field(std::string_view data, size_t index) {
    return firstBatch<T>(data, context, index);
  }

  TemporaryFolder folder;
  DataContext context;
};

constexpr const char *pad =
    "map { field: \"tokens\" pad { shape: 4 value: -1 mask: \"mask\" length: \"n\" } } ";

TEST_F(RaggedTest, RowsArePaddedWithAMaskAndTheirLength) {
  context.demands = {
      {"tokens", "t", GRADC_I64, {4}}, {"mask", "m", GRADC_F32, {4}}, {"n", "n", GRADC_I64, {}}};
  EXPECT_EQ(field<int64_t>(data(pad), 0),
            (std::vector<int64_t>{10, 11, 12, -1, -1, -1, -1, -1, 13, 14, -1, -1}));
  EXPECT_EQ(field<float>(data(pad), 1), (std::vector<float>{1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(field<int64_t>(data(pad), 2), (std::vector<int64_t>{3, 0, 2}));
  // The same rows in any order, with any number of threads.
  std::string stages = std::string("shuffle { } ") + pad;
  auto shuffled = field<int64_t>(data(stages), 0);
  EXPECT_EQ(
      field<int64_t>(data(stages, "batch { size: 3 } prefetch { depth: 2 } parallelism: 3"), 0),
      shuffled);
}

TEST_F(RaggedTest, AModelMayTakeTheMaskAlone) {
  context.demands = {{"mask", "m", GRADC_F32, {2}}};
  std::string cut = "map { field: \"tokens\" pad { shape: 2 truncate: true mask: \"mask\" } } ";
  EXPECT_EQ(field<float>(data(cut), 0), (std::vector<float>{1, 1, 0, 0, 1, 1}));
}

TEST_F(RaggedTest, TheMaskHasTheDimsUpToTheLastThatVaries) {
  context.demands = {{"pairs", "p", GRADC_F32, {3, 2}}, {"mask", "m", GRADC_F32, {3}}};
  std::string maps = "map { field: \"pairs\" pad { shape: 3 shape: 2 value: 7 mask: \"mask\" } } ";
  EXPECT_EQ(field<float>(data(maps), 0),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 7, 7, 7, 7, 7, 7, 6, 7, 8, 9, 7, 7}));
  EXPECT_EQ(field<float>(data(maps), 1), (std::vector<float>{1, 1, 1, 0, 0, 0, 1, 1, 0}));
  // If no dim varies, all dims.
  context.demands = {{"s", "x", GRADC_F32, {2, 3}}, {"mask", "m", GRADC_F32, {2, 3}}};
  writeFile(folder / "s.npz", zip({{"s.npy", npy("<f4", "(1, 1, 2)", bytesOf<float>({5, 6}))}}));
  EXPECT_EQ(field<float>("source { npz { path: \"s.npz\" } } map { field: \"s\" pad { shape: 2 "
                         "shape: 3 mask: \"mask\" } } batch { size: 1 }",
                         1),
            (std::vector<float>{1, 1, 0, 0, 0, 0}));
}

TEST_F(RaggedTest, RowsThatAreNotPaddedOrDoNotFit) {
  std::string file = "'" + (folder / "r.npz") + "'";
  context.demands = {{"tokens", "t", GRADC_I64, {2}}};
  EXPECT_EQ(buildError(data(""), context),
            "field 'tokens' of " + file +
                " has rows of shape [?], but model input 't' expects [2]");
  EXPECT_EQ(batchError(data("map { field: \"tokens\" pad { shape: 2 } } "), context),
            "row 0 (from 0) of " + file +
                ": field 'tokens' has shape [3], expected at most [2] (pad { truncate: true } "
                "cuts it off)");
}

TEST_F(RaggedTest, WrongOffsets) {
  std::string file = "'" + (folder / "r.npz") + "'";
  context.demands = {{"tokens", "t", GRADC_I64, {4}}};
  auto error = [&](const std::vector<int64_t> &offsets) {
    write(offsets);
    return buildError(data(pad), context);
  };
  EXPECT_EQ(error({1, 3}), "entry 0 of field 'ends' of " + file + " is 1, expected 0");
  EXPECT_EQ(error({0, 3, 2, 5}),
            "entry 2 of field 'ends' of " + file + " is 2, expected an offset from 3 to 5");
  EXPECT_EQ(error({0, 6}),
            "entry 1 of field 'ends' of " + file + " is 6, expected an offset from 0 to 5");
  EXPECT_EQ(error({0}), "the data set is empty: " + file + " has no rows");
  EXPECT_EQ(error({}), "the data set is empty: " + file + " has no rows");
  EXPECT_EQ(buildError("source { npz { path: \"r.npz\" ragged { field: \"tokens\" offsets: "
                       "\"pairs\" } } } " +
                           std::string(pad) + "batch { size: 1 }",
                       context),
            "field 'pairs' of " + file +
                " has type f32 and rows of shape [2], expected offsets of rows of 'tokens': one "
                "i64 or i32 each");
  EXPECT_EQ(buildError("source { npz { path: \"r.npz\" ragged { field: \"tokens\" offsets: "
                       "\"none\" } } } " +
                           std::string(pad) + "batch { size: 1 }",
                       context),
            "ragged 'tokens' reads field 'none', but " + file +
                " has 'tokens', 'pairs' and 'ends'");
}

TEST_F(RaggedTest, WrongNames) {
  context.demands = {{"tokens", "t", GRADC_I64, {4}}};
  auto error = [&](const std::string &names) {
    return buildError(data("map { field: \"tokens\" pad { shape: 4 " + names + " } } "), context);
  };
  EXPECT_EQ(error("mask: \"tokens\""),
            "pad { mask } is 'tokens', expected a name that no field has");
  EXPECT_EQ(error("mask: \"m\" length: \"m\""),
            "pad has 'm' as mask and as length, expected two names");
}

} // namespace
