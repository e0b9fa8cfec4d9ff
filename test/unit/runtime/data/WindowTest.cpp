// Windows over successive rows, the rows ahead of them, and stages that windows cannot follow.
#include "runtime/base/Text.h"
#include "test/unit/runtime/data/DataTesting.h"

#include <algorithm>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

class WindowTest : public testing::Test {
protected:
  /// Ten rows: values [r, 10 r], the number r, and 0, 1 or 2 tokens.
  WindowTest() {
    std::vector<float> values;
    std::vector<int64_t> numbers;
    for (int64_t row = 0; row < 10; ++row) {
      values.insert(values.end(), {float(row), float(10 * row)});
      numbers.push_back(row);
    }
    writeFile(folder / "series.npz",
              zip({{"values.npy", npy("<f4", "(10, 2)", bytesOf(values))},
                   {"number.npy", npy("<i8", "(10,)", bytesOf(numbers))},
                   {"tokens.npy", npy("<i8", "(10,)", bytesOf(numbers))},
                   {"ends.npy",
                    npy("<i8", "(11,)", bytesOf<int64_t>({0, 1, 3, 3, 4, 5, 6, 7, 8, 9, 10}))}}));
    context.folders = {folder.path};
    context.seed = 5;
    demand({3, 2});
  }

  /// The model takes windows of this shape.
  void demand(std::vector<int64_t> shape) {
    context.demands = {{"values", "x", GRADC_F32, std::move(shape), 0}};
  }
  void demandMore(const char *field, gradc_dtype dtype, std::vector<int64_t> shape) {
    context.demands.push_back({field, "y", dtype, std::move(shape), 0});
  }

  static std::string data(std::string_view stages, std::string_view rows = "",
                          std::string_view split = "") {
    return text("source { npz { path: \"series.npz\" ", rows, " } ", split, " } ", stages,
                " batch { size: 4 }");
  }

  /// The first of the values of each row, over one epoch.
  std::vector<std::vector<float>> windows(const std::string &data) {
    auto dataset = build(data, context);
    EXPECT_TRUE(dataset.ok()) << dataset.status().message();
    std::vector<std::vector<float>> found;
    if (!dataset)
      return found;
    auto iterator = (*dataset)->iterate();
    int64_t length = (*dataset)->fields()[0].shape[0];
    for (Batch batch = (*dataset)->allocate(); !batch.endsEpoch;) {
      Status status = iterator->next(batch);
      EXPECT_TRUE(status.ok()) << status.message();
      if (!status.ok())
        return found;
      auto *values = reinterpret_cast<const float *>(batch.field(0));
      for (int64_t row = 0; row < batch.rows; ++row) {
        found.emplace_back();
        for (int64_t i = 0; i < length; ++i)
          found.back().push_back(values[(row * length + i) * 2]);
      }
    }
    return found;
  }

  std::string error(const std::string &data) { return buildError(data, context); }

  TemporaryFolder folder;
  DataContext context;
};

using Windows = std::vector<std::vector<float>>;

TEST_F(WindowTest, HoldSuccessiveRowsAndThoseAhead) {
  demandMore("future", GRADC_F32, {2, 2});
  std::string both = data("window { length: 3 ahead { field: \"values\" name: \"future\" "
                          "length: 2 } }");
  // The last one holds rows 5 to 7, and rows 8 and 9 are ahead of it.
  EXPECT_EQ(windows(both),
            (Windows{{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 5}, {4, 5, 6}, {5, 6, 7}}));
  std::vector<float> ahead = firstBatch<float>(both, context, 1);
  EXPECT_EQ(ahead, (std::vector<float>{3, 30, 4, 40, 4, 40, 5, 50, 5, 50, 6, 60, 6, 60, 7, 70}));
}

TEST_F(WindowTest, BeginAtEachStride) {
  demand({4, 2});
  demandMore("last", GRADC_I64, {});
  std::string strided = data("window { length: 4 stride: 3 ahead { field: \"number\" "
                             "name: \"last\" skip: -1 } }");
  EXPECT_EQ(windows(strided), (Windows{{0, 1, 2, 3}, {3, 4, 5, 6}, {6, 7, 8, 9}}));
  EXPECT_EQ(firstBatch<int64_t>(strided, context, 1), (std::vector<int64_t>{3, 6, 9}));
}

TEST_F(WindowTest, TakeEveryNthRowWithDilation) {
  demandMore("next", GRADC_I64, {2});
  demandMore("last", GRADC_I64, {});
  // Rows ahead keep the distance: 6 and 8 follow 0, 2 and 4 if none is skipped.
  std::string dilated = data("window { length: 3 dilation: 2 ahead { field: \"number\" name: "
                             "\"next\" length: 2 } ahead { field: \"number\" name: \"last\" "
                             "skip: -1 } }");
  EXPECT_EQ(windows(dilated), (Windows{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_EQ(firstBatch<int64_t>(dilated, context, 1), (std::vector<int64_t>{6, 8, 7, 9}));
  EXPECT_EQ(firstBatch<int64_t>(dilated, context, 2), (std::vector<int64_t>{4, 5}));
}

TEST_F(WindowTest, StrideAndDilationAreIndependent) {
  EXPECT_EQ(windows(data("window { length: 3 dilation: 3 stride: 2 }")),
            (Windows{{0, 3, 6}, {2, 5, 8}}));
  // A window of one row reaches no further, whatever the dilation.
  demand({1, 2});
  EXPECT_EQ(windows(data("window { length: 1 dilation: 9 }")).size(), 10u);
}

TEST_F(WindowTest, TakeTheRowsOfTheStagesBefore) {
  EXPECT_EQ(windows(data("window { length: 3 }", "rows { begin: 2 end: 7 }")),
            (Windows{{2, 3, 4}, {3, 4, 5}, {4, 5, 6}}));
  EXPECT_EQ(windows(data("map { field: \"values\" scale: 2 } skip { rows: 1 } "
                         "shard { count: 2 index: 0 } window { length: 3 } take { rows: 2 }")),
            (Windows{{2, 6, 10}, {6, 10, 14}}));
}

TEST_F(WindowTest, AreShuffledAsAWhole) {
  std::string shuffled = data("window { length: 3 } cache {} shuffle {}");
  Windows found = windows(shuffled), inOrder = windows(data("window { length: 3 }"));
  EXPECT_NE(found, inOrder);
  for (const char *threads : {" parallelism: 1", " parallelism: 3"})
    EXPECT_EQ(windows(shuffled + " prefetch { depth: 3 }" + threads), found);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, inOrder);
  EXPECT_EQ(inOrder.size(), 8u);
}

TEST_F(WindowTest, SayWhatIsWrongWithTheBlock) {
  EXPECT_EQ(error(data("window {}")), "window { length } is 0, expected 1 or more: add length: 48");
  EXPECT_EQ(error(data("window { length: 3 stride: 0 }")),
            "window { stride } is 0, expected 1 or more");
  EXPECT_EQ(error(data("window { length: 3 dilation: 0 }")),
            "window { dilation } is 0, expected 1 or more");
  auto ahead = [&](std::string_view block) {
    return error(data(text("window { length: 3 ahead { ", block, " } }")));
  };
  EXPECT_EQ(ahead("name: \"future\""),
            "window { ahead } has no field: add field: \"values\" name: \"future\"");
  EXPECT_EQ(ahead("field: \"values\""),
            "window { ahead } has no name: add field: \"values\" name: \"future\"");
  EXPECT_EQ(ahead("field: \"values\" name: \"future\" length: 0"),
            "window { ahead { length } } is 0, expected 1 or more");
  EXPECT_EQ(ahead("field: \"values\" name: \"future\" skip: -4"),
            "window { ahead { skip } } is -4, expected -3 (the first row of the window) or more");
  const char *huge = "1073741825", *most = " is 1073741825, expected at most 1073741824";
  EXPECT_EQ(error(data(text("window { length: ", huge, " }"))), text("window { length }", most));
  EXPECT_EQ(error(data(text("window { length: 3 stride: ", huge, " }"))),
            text("window { stride }", most));
  EXPECT_EQ(error(data(text("window { length: 3 dilation: ", huge, " }"))),
            text("window { dilation }", most));
  EXPECT_EQ(ahead(text("field: \"values\" name: \"future\" length: ", huge)),
            text("window { ahead { length } }", most));
  EXPECT_EQ(ahead(text("field: \"values\" name: \"future\" skip: ", huge)),
            text("window { ahead { skip } }", most));
  EXPECT_EQ(ahead("field: \"values\" name: \"values\""),
            "window { ahead { name } } is 'values', expected a name that no field has");
}

TEST_F(WindowTest, NeedEnoughRows) {
  EXPECT_EQ(error(data("window { length: 11 }")),
            text("the data set is empty: window needs 11 rows, but '", folder / "series.npz",
                 "' has 10 rows"));
  EXPECT_EQ(error(data("window { length: 3 ahead { field: \"values\" name: \"f\" skip: 7 } }")),
            text("the data set is empty: window needs 11 rows, but '", folder / "series.npz",
                 "' has 10 rows"));
}

TEST_F(WindowTest, NeedMoreRowsWithDilation) {
  // Rows 0, 4 and 8, and row 12 ahead of them.
  EXPECT_EQ(error(data("window { length: 3 dilation: 4 ahead { field: \"values\" name: \"f\" } }")),
            text("the data set is empty: window needs 13 rows, but '", folder / "series.npz",
                 "' has 10 rows"));
}

TEST_F(WindowTest, RefuseRowsThatAreNotInSequence) {
  auto expected = [](std::string_view stage) {
    return text("window takes successive rows, but comes after ", stage,
                ": put shuffle, repeat and sampler behind it, and divide one file with "
                "rows { begin: 0 end: 8000 } of its source");
  };
  const std::string_view window = "window { length: 3 }";
  EXPECT_EQ(error(data(text("shuffle {} ", window))), expected("shuffle"));
  EXPECT_EQ(error(data(text("repeat { times: 2 } ", window))), expected("repeat"));
  EXPECT_EQ(error(data(text("sampler { weight: \"number\" } ", window))), expected("sampler"));
  EXPECT_EQ(error(data(window, "", "split { fraction: 0.5 }")), expected("split"));
}

TEST_F(WindowTest, StayWithinAFile) {
  const std::string_view twice = "path: \"series.npz\"";
  const std::string window = "window { length: 3 }";
  Windows one = windows(data(window)), both = one;
  both.insert(both.end(), one.begin(), one.end());
  EXPECT_EQ(windows(data(window, twice)), both);
  EXPECT_EQ(windows(data(window, text(twice, " interleave: 4"))), both);
  // Strides begin anew in each file; two rows that are left of a file are no window.
  EXPECT_EQ(windows(data("window { length: 3 stride: 5 }", twice)),
            (Windows{{0, 1, 2}, {5, 6, 7}, {0, 1, 2}, {5, 6, 7}}));
  EXPECT_EQ(windows(data("window { length: 3 stride: 5 dilation: 2 }", twice)),
            (Windows{{0, 2, 4}, {5, 7, 9}, {0, 2, 4}, {5, 7, 9}}));
  EXPECT_EQ(windows(data(window, text(twice, " rows { begin: 8 end: 14 }"))),
            (Windows{{0, 1, 2}, {1, 2, 3}}));
  // Successive windows of one file, too.
  context.demands[0].shape = {2, 3, 2};
  auto again = build(data(window + " window { length: 2 }", twice), context);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ((*again)->rows(), 14);
  // A message names the file's row.
  Batch batch = (*again)->allocate();
  auto iterator = (*again)->iterate();
  for (int batches = 0; batches < 3; ++batches) // of 4 windows
    ASSERT_TRUE(iterator->next(batch).ok());
  EXPECT_EQ((*again)->describeRow(batch, 0),
            text("the window that begins at the window that begins at row 1 (from 0) of '",
                 folder / "series.npz", '\''));
}

TEST_F(WindowTest, NeedEnoughRowsOfOneFile) {
  EXPECT_EQ(error(data("window { length: 11 }", "path: \"series.npz\"")),
            text("the data set is empty: window needs 11 rows of one file, but none of 2 files "
                 "from '",
                 folder / "series.npz", "' on has as many"));
}

TEST_F(WindowTest, RefuseRowsOfVaryingSize) {
  const std::string_view ragged = "ragged { field: \"tokens\" offsets: \"ends\" }";
  context.demands = {{"tokens", "x", GRADC_I64, {3}, 0}};
  EXPECT_NE(error(data("window { length: 3 }", ragged))
                .find("expected rows of one size: put map { pad {} } before it"),
            std::string::npos);
  EXPECT_EQ(error(text("source { npz { path: \"series.npz\" ", ragged,
                       " } } map { field: \"tokens\" pad { shape: 4 } } window { length: 3 } "
                       "batch { size: 2 bucket { length: 2 } }")),
            "window takes rows of one length, and does not go with batch { bucket }");
}

} // namespace
