// Splits: both parts together are all rows, equal everywhere, with each value's share.
#include "runtime/base/Text.h"
#include "test/unit/runtime/data/DataTesting.h"

#include <algorithm>
#include <numeric>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

constexpr int64_t rowsToSplit = 60;

class SplitTest : public testing::Test {
protected:
  SplitTest() {
    context.folders = {folder.path};
    context.demands = digitsDemands();
    std::vector<Member> members = digits(rowsToSplit);
    std::vector<int64_t> classes(rowsToSplit);
    std::vector<double> weights(rowsToSplit, 0.5);
    for (int64_t row = 0; row < rowsToSplit; ++row)
      classes[size_t(row)] = row < 40 ? 7 : row < 59 ? -3 : 1000; // 40, 19 and 1
    members.push_back({"classes.npy", npy("<i8", "(60,)", bytesOf(classes))});
    members.push_back({"weights.npy", npy("<f8", "(60,)", bytesOf(weights))});
    writeFile(folder / "digits.npz", zip(members));
  }

  static std::string data(std::string_view split, std::string_view rows) {
    return text("source { npz { path: \"digits.npz\" ", rows, " } split { ", split,
                " } } map { field: \"images\" cast: F32 } batch { size: 50 }");
  }

  /// The rows of an epoch, in order.
  std::vector<int64_t> rows(std::string_view split, std::string_view rule = "") {
    auto dataset = build(data(split, rule), context);
    EXPECT_TRUE(dataset.ok()) << dataset.status().message();
    std::vector<int64_t> found;
    if (!dataset)
      return found;
    auto iterator = (*dataset)->iterate();
    Batch batch = (*dataset)->allocate();
    do {
      EXPECT_TRUE(iterator->next(batch).ok());
      for (float pixel : firstPixels(batch))
        found.push_back(int64_t(pixel) / 4);
    } while (!batch.endsEpoch);
    EXPECT_EQ(int64_t(found.size()), (*dataset)->rows());
    return found;
  }

  std::string error(std::string_view split, std::string_view rule = "") {
    return buildError(data(split, rule), context);
  }

  TemporaryFolder folder;
  DataContext context;
};

std::vector<int64_t> joined(std::vector<int64_t> a, const std::vector<int64_t> &b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  return a;
}

TEST_F(SplitTest, BothPartsAreAllRows) {
  std::vector<int64_t> all(rowsToSplit);
  std::iota(all.begin(), all.end(), 0);
  for (std::string rest :
       {"", "seed: 5", "stratify: \"classes\"", "stratify: \"classes\" seed: 8"}) {
    auto kept = rows("fraction: 0.2 " + rest), held = rows("fraction: 0.2 held_out: true " + rest);
    EXPECT_EQ(held.size(), 12u);
    EXPECT_EQ(joined(kept, held), all) << rest;
  }
}

TEST_F(SplitTest, SeedsDiffer) {
  auto held = rows("fraction: 0.2 held_out: true");
  EXPECT_EQ(held, rows("fraction: 0.2 held_out: true seed: 0"));
  EXPECT_NE(held, rows("fraction: 0.2 held_out: true seed: 1"));
  EXPECT_NE(held, rows("fraction: 0.2 held_out: true stratify: \"classes\""));
}

TEST_F(SplitTest, EachValueHasItsShare) {
  for (int seed = 0; seed < 5; ++seed) {
    auto held = rows(text("fraction: 0.25 held_out: true stratify: \"classes\" seed: ", seed));
    EXPECT_EQ(std::ranges::count_if(held, [](int64_t row) { return row < 40; }), 10);
    EXPECT_EQ(std::ranges::count_if(held, [](int64_t row) { return row >= 40 && row < 59; }), 5);
    EXPECT_EQ(std::ranges::count(held, 59), 0); // the only one stays
  }
}

TEST_F(SplitTest, RowsAreChosenFirst) {
  auto kept = rows("fraction: 0.5", "rows { begin: 20 end: 40 }"),
       held = rows("fraction: 0.5 held_out: true", "rows { begin: 20 end: 40 }");
  std::vector<int64_t> all(20);
  std::iota(all.begin(), all.end(), 20);
  EXPECT_EQ(kept.size(), 10u);
  EXPECT_EQ(joined(kept, held), all);
}

TEST_F(SplitTest, Wrong) {
  EXPECT_EQ(error(""), "split { fraction } is 0, expected above 0 and below 1: add fraction: 0.2");
  EXPECT_EQ(error("fraction: 1"),
            "split { fraction } is 1, expected above 0 and below 1: add fraction: 0.2");
  EXPECT_EQ(error("fraction: 0.001"),
            text("split holds out 0 of the 60 rows of '", folder / "digits.npz",
                 "', expected some, and others to be left"));
  EXPECT_EQ(error("fraction: 0.999"),
            text("split holds out 60 of the 60 rows of '", folder / "digits.npz",
                 "', expected some, and others to be left"));
  EXPECT_EQ(error("fraction: 0.2 stratify: \"weights\""),
            "split { stratify } reads field 'weights' of type f64 and shape [], expected one "
            "integer a row");
  EXPECT_EQ(error("fraction: 0.97 stratify: \"classes\""),
            text("split cannot hold out 58 of the 60 rows of '", folder / "digits.npz",
                 "' and leave one of each of the 3 values of field 'classes'"));
  EXPECT_NE(error("fraction: 0.2 stratify: \"class\"")
                .find("split { stratify } reads field 'class', but"),
            std::string::npos);
}

} // namespace
