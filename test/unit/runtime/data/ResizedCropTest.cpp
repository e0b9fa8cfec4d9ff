// Random parts of pictures, resized or covered: their sizes and places.
#include "DataTesting.h"

#include <algorithm>
#include <set>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// Equal pictures, of which each pixel has its row and its column as values.
class ResizedCropTest : public testing::Test {
protected:
  ResizedCropTest() {
    context.folders = {folder.path};
    context.seed = 5;
    std::vector<float> pixels;
    for (int64_t i = 0; i < rows * height * width; ++i) {
      pixels.push_back(float(i / width % height));
      pixels.push_back(float(i % width));
    }
    writeFile(folder / "p.npy", npy("<f4", "(200, 40, 60, 2)", bytesOf(pixels)));
  }

  static std::string data(const std::string &maps) {
    return R"(source { npy { field { name: "p" path: "p.npy" } } } )" + maps +
           "batch { size: 200 }";
  }
  static std::string map(const std::string &step) { return R"(map { field: "p" )" + step + " } "; }
  std::vector<float> pixels(const std::string &maps, int64_t side) {
    context.demands = {{"p", "x", GRADC_F32, {side, side, 2}, 0}};
    return firstBatch<float>(data(maps), context);
  }

  static constexpr int64_t rows = 200, height = 40, width = 60;
  TemporaryFolder folder;
  DataContext context;
};

// Enlarged to nearest pixels, a part shows its corners.
TEST_F(ResizedCropTest, PartsHaveTheWantedSizes) {
  constexpr size_t side = 64, perPicture = side * side * 2;
  auto all = pixels(map("random_resized_crop { height: 64 width: 64 filter: NEAREST }"), side);
  ASSERT_EQ(all.size(), perPicture * size_t(rows));
  std::set<float> tops, lefts;
  double sum = 0;
  for (size_t i = 0; i < size_t(rows); ++i) {
    const float *first = &all[i * perPicture], *last = first + perPicture - 2;
    double high = double(last[0] - first[0]) + 1, wide = double(last[1] - first[1]) + 1;
    double share = high * wide / double(height * width);
    ASSERT_GT(share, 0.07); // sides are rounded
    ASSERT_LE(share, 1);
    ASSERT_GT(wide / high, 0.68);
    ASSERT_LT(wide / high, 1.47);
    tops.insert(first[0]);
    lefts.insert(first[1]);
    sum += share;
  }
  EXPECT_GT(tops.size(), 10u);
  EXPECT_GT(lefts.size(), 10u);
  EXPECT_GT(sum / double(rows), 0.3);
  EXPECT_LT(sum / double(rows), 0.6);
}

TEST_F(ResizedCropTest, WithoutAPartThatFitsTakesTheMiddle) {
  for (std::string filter : {"BILINEAR", "BICUBIC"}) {
    std::string size = "height: 16 width: 16 filter: " + filter,
                resize = map("resize { " + size + " }");
    EXPECT_EQ(pixels(map("random_resized_crop { least_area: 1 least_ratio: 1 most_ratio: 1 " +
                         size + " }"),
                     16),
              pixels(map("crop { height: 40 width: 40 }") + resize, 16));
    EXPECT_EQ(pixels(map("random_resized_crop { least_area: 1 least_ratio: 2 most_ratio: 2 " +
                         size + " }"),
                     16),
              pixels(map("crop { height: 30 width: 60 }") + resize, 16));
    EXPECT_EQ(pixels(map("random_resized_crop { least_area: 1 least_ratio: 1.5 most_ratio: 1.5 " +
                         size + " }"),
                     16),
              pixels(resize, 16));
  }
}

TEST_F(ResizedCropTest, ErasedPartsAreRectanglesOfOneColor) {
  std::string erase = "random_erase { value: -1 value: -2 }",
              crop = map("crop { height: 40 width: 40 }");
  auto all = pixels(crop + map(erase), 40), whole = pixels(crop, 40);
  ASSERT_EQ(all.size(), whole.size());
  constexpr int64_t side = 40;
  int erased = 0;
  for (int64_t i = 0; i < rows; ++i) {
    int64_t top = side, bottom = -1, left = side, right = -1, count = 0;
    for (int64_t at = 0; at < side * side; ++at) {
      auto place = size_t((i * side * side + at) * 2);
      if (all[place] >= 0) {
        ASSERT_EQ(all[place], whole[place]);
        ASSERT_EQ(all[place + 1], whole[place + 1]);
        continue;
      }
      ASSERT_EQ(all[place], -1);
      ASSERT_EQ(all[place + 1], -2);
      top = std::min(top, at / side);
      bottom = std::max(bottom, at / side);
      left = std::min(left, at % side);
      right = std::max(right, at % side);
      ++count;
    }
    if (count == 0)
      continue;
    ++erased;
    ASSERT_EQ(count, (bottom - top + 1) * (right - left + 1));
    ASSERT_LE(double(count), 0.36 * double(side * side)); // sides are rounded
  }
  EXPECT_GT(erased, rows * 3 / 10);
  EXPECT_LT(erased, rows * 7 / 10);
  EXPECT_EQ(pixels(crop + map("random_erase { probability: 0 }"), 40), whole);
}

TEST_F(ResizedCropTest, WrongSettingsOfErasing) {
  context.demands = {{"p", "x", GRADC_F32, {40, 60, 2}, 0}};
  auto error = [&](const std::string &settings) {
    return buildError(data(map("random_erase { " + settings + " }")), context);
  };
  EXPECT_EQ(error("probability: 2"), "random_erase { probability } is 2, expected 0 to 1");
  EXPECT_EQ(error("most_area: 2"), "random_erase has least_area 0.02 and most_area 2, expected "
                                   "shares above 0 and up to 1, the smaller one first");
  EXPECT_EQ(error("value: 1 value: 2 value: 3"),
            "random_erase { value } has 3 values, expected 1 or one for each of 2 channels");
  EXPECT_EQ(error("value: 1e39"), "random_erase { value } is 1e+39, expected a finite number");
}

TEST_F(ResizedCropTest, WrongSettings) {
  context.demands = {{"p", "x", GRADC_F32, {16, 16, 2}, 0}};
  auto error = [&](const std::string &settings) {
    return buildError(data(map("random_resized_crop { " + settings + " }")), context);
  };
  EXPECT_EQ(error("width: 16"), "random_resized_crop { height } is 0, expected 1 to 32768");
  EXPECT_EQ(error("height: 16 width: 16 filter: LANCZOS"),
            "random_resized_crop { filter } is 'LANCZOS', expected BILINEAR, BICUBIC, NEAREST or "
            "AREA");
  EXPECT_EQ(error("height: 16 width: 16 least_area: 0"),
            "random_resized_crop has least_area 0 and most_area 1, expected shares above 0 and up "
            "to 1, the smaller one first");
  EXPECT_EQ(error("height: 16 width: 16 least_area: 0.5 most_area: 0.25"),
            "random_resized_crop has least_area 0.5 and most_area 0.25, expected shares above 0 "
            "and up to 1, the smaller one first");
  EXPECT_EQ(error("height: 16 width: 16 least_ratio: 2 most_ratio: 1"),
            "random_resized_crop has least_ratio 2 and most_ratio 1, expected 1e-5 to 1e5, the "
            "smaller one first");
}

} // namespace
