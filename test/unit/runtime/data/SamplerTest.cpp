// The sampler: frequencies of draws, equal draws everywhere, and wrong weights.
#include "test/unit/runtime/data/DataTesting.h"

#include <algorithm>
#include <cmath>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

constexpr int64_t rowsToDraw = 60;

class SamplerTest : public testing::Test {
protected:
  SamplerTest() {
    context.folders = {folder.path};
    context.demands = digitsDemands();
    context.seed = 11;
  }

  /// digits.npz with a field of weights and one of classes.
  void write(const std::vector<double> &weights, const std::vector<int64_t> &classes) {
    std::vector<Member> members = digits(rowsToDraw);
    members.push_back({"weights.npy", npy("<f8", "(60,)", bytesOf(weights))});
    members.push_back({"classes.npy", npy("<i8", "(60,)", bytesOf(classes))});
    writeFile(folder / "digits.npz", zip(members));
  }
  /// Row r has weight r; 54 rows are of class 0, five of class 1 and one of class 2.
  void writeUneven() {
    std::vector<double> weights(rowsToDraw);
    std::vector<int64_t> classes(rowsToDraw);
    for (int64_t row = 0; row < rowsToDraw; ++row) {
      weights[size_t(row)] = double(row);
      classes[size_t(row)] = row < 54 ? 0 : row < 59 ? 1 : 2;
    }
    write(weights, classes);
  }

  static std::string data(std::string_view stages, std::string_view behind = "") {
    return "source { npz { path: \"digits.npz\" } } " + std::string(stages) +
           " map { field: \"images\" cast: F32 } batch { size: 50 } " + std::string(behind);
  }

  /// The rows of several epochs; rows of digits have 4 * row as their first pixel.
  std::vector<int64_t> draws(std::string_view stages, int epochs, std::string_view behind = "",
                             Position from = {}) {
    auto dataset = build(data(stages, behind), context);
    EXPECT_TRUE(dataset.ok()) << dataset.status().message();
    std::vector<int64_t> rows;
    if (!dataset)
      return rows;
    auto iterator = (*dataset)->iterate();
    EXPECT_TRUE(iterator->restore(from).ok());
    for (Batch batch = (*dataset)->allocate(); epochs; epochs -= batch.endsEpoch) {
      EXPECT_TRUE(iterator->next(batch).ok());
      for (float pixel : firstPixels(batch))
        rows.push_back(int64_t(pixel) / 4);
    }
    return rows;
  }

  std::string error(std::string_view stages) { return buildError(data(stages), context); }

  TemporaryFolder folder;
  DataContext context;
};

std::vector<double> countsOf(const std::vector<int64_t> &rows) {
  std::vector<double> counts(rowsToDraw);
  for (int64_t row : rows)
    ++counts[size_t(row)];
  return counts;
}

/// Within five standard deviations of a binomial distribution.
void expectShare(double count, double draws, double share) {
  double deviation = std::sqrt(draws * share * (1 - share));
  EXPECT_NEAR(count, draws * share, 5 * deviation + 1e-9) << "share " << share;
}

TEST_F(SamplerTest, DrawsInProportionToWeights) {
  writeUneven();
  auto rows = draws("sampler { weight: \"weights\" rows: 100000 }", 1);
  ASSERT_EQ(rows.size(), 100000u);
  std::vector<double> counts = countsOf(rows);
  EXPECT_EQ(counts[0], 0);
  for (int64_t row = 0; row < rowsToDraw; ++row)
    expectShare(counts[size_t(row)], 100000, double(row) / 1770);
}

TEST_F(SamplerTest, DrawsEachClassAsOften) {
  writeUneven();
  std::vector<double> counts = countsOf(draws("sampler { by_class: \"classes\" rows: 50000 }", 1));
  for (int64_t row = 0; row < rowsToDraw; ++row)
    expectShare(counts[size_t(row)], 50000, row < 54 ? 1 / 162.0 : row < 59 ? 1 / 15.0 : 1 / 3.0);
  counts = countsOf(draws("sampler { by_class: \"classes\" class_weight: 3 class_weight: 0 "
                          "class_weight: 1 rows: 50000 }",
                          1));
  expectShare(counts[59], 50000, 0.25);
  expectShare(counts[0], 50000, 0.75 / 54);
  EXPECT_EQ(counts[54], 0);
}

TEST_F(SamplerTest, EpochsDifferAndRepeatThemselves) {
  writeUneven();
  std::string sampler = "sampler { weight: \"weights\" }";
  auto both = draws(sampler, 2);
  ASSERT_EQ(both.size(), size_t(2 * rowsToDraw)); // as many as there are rows
  std::vector<int64_t> second(both.begin() + rowsToDraw, both.end());
  EXPECT_NE(std::vector<int64_t>(both.begin(), both.begin() + rowsToDraw), second);
  EXPECT_EQ(draws(sampler, 1, "", {1, 0}), second);
  EXPECT_EQ(draws(sampler, 1, "", {1, 7}), std::vector<int64_t>(second.begin() + 7, second.end()));
  for (const char *threads : {"parallelism: 1", "parallelism: 3"})
    EXPECT_EQ(draws(sampler, 2, std::string("prefetch { depth: 3 } ") + threads), both);
  context.seed = 12;
  EXPECT_NE(draws(sampler, 2), both);
}

TEST_F(SamplerTest, DrawsOnlyWhatTheStagesBeforeVisit) {
  writeUneven();
  for (int64_t row :
       draws("filter { field: \"labels\" only: 3 } sampler { weight: \"weights\" rows: 500 }", 2))
    EXPECT_EQ(row % 10, 3);
  auto shard = draws("sampler { weight: \"weights\" rows: 101 } shard { count: 2 index: 1 }", 1);
  EXPECT_EQ(shard.size(), 50u);
  EXPECT_EQ(shard[0], draws("sampler { weight: \"weights\" rows: 101 }", 1)[1]);
}

TEST_F(SamplerTest, RandomMapsBehindItSeeEachDrawAsARow) {
  // One row only, a line of four pixels 0 to 3: a draw's crop is one of them.
  writeFile(folder / "p.npy", npy("|u1", "(1, 1, 4, 1)",
                                  Bytes{std::byte{0}, std::byte{1}, std::byte{2}, std::byte{3}}));
  writeFile(folder / "w.npy", npy("<f4", "(1,)", bytesOf(std::vector<float>{1})));
  context.demands = {{"p", "x", GRADC_F32, {1, 1, 1}}};
  std::string source = "source { npy { field { name: \"p\" path: \"p.npy\" } field { name: \"w\" "
                       "path: \"w.npy\" } } } ";
  std::string sampler = "sampler { weight: \"w\" rows: 400 } ",
              crop = "map { field: \"p\" random_crop { height: 1 width: 1 } } ";
  auto pixels = [&](const std::string &stages) {
    return firstBatch<float>(source + stages + "map { field: \"p\" cast: F32 } batch { size: 400 }",
                             context);
  };
  std::vector<float> drawn = pixels(sampler + crop);
  for (float pixel : {0, 1, 2, 3})
    expectShare(double(std::ranges::count(drawn, pixel)), 400, 0.25);
  // Before the sampler, there is a single row, cropped once per epoch.
  drawn = pixels(crop + sampler);
  EXPECT_EQ(std::ranges::count(drawn, drawn[0]), 400);
}

TEST_F(SamplerTest, WrongWeights) {
  std::string file = "'" + (folder / "digits.npz") + "'";
  std::vector<double> weights(rowsToDraw, 1);
  std::vector<int64_t> classes(rowsToDraw);
  for (auto [bad, found] :
       {std::pair(-1.0, "-1"), std::pair(double(INFINITY), "inf"), std::pair(double(NAN), "nan")}) {
    weights[17] = bad;
    write(weights, classes);
    EXPECT_EQ(error("sampler { weight: \"weights\" }"),
              "row 17 (from 0) of " + file + ": sampler finds " + found +
                  " in field 'weights', expected a finite weight of 0 or more");
  }
  write(std::vector<double>(rowsToDraw), classes);
  EXPECT_EQ(error("sampler { weight: \"weights\" }"),
            "sampler finds weights in field 'weights' of " + file +
                " whose sum is 0, expected a finite number above 0");
  write(std::vector<double>(rowsToDraw, 1e307), classes);
  EXPECT_EQ(error("sampler { weight: \"weights\" }"),
            "sampler finds weights in field 'weights' of " + file +
                " whose sum is inf, expected a finite number above 0");
}

TEST_F(SamplerTest, WrongClasses) {
  std::string file = "'" + (folder / "digits.npz") + "'";
  std::vector<int64_t> classes(rowsToDraw);
  classes[30] = 2;
  write(std::vector<double>(rowsToDraw), classes);
  std::string byClass = "sampler { by_class: \"classes\" ";
  std::string advice = " (a class_weight of 0 leaves a class out)";
  EXPECT_EQ(error(byClass + "}"), "sampler finds no row of class 1 in field 'classes' of " + file +
                                      ", expected rows of each class from 0 to 2" + advice);
  EXPECT_EQ(error(byClass + "class_weight: 1 class_weight: 0 class_weight: 1 class_weight: 1 }"),
            "sampler finds no row of class 3 in field 'classes' of " + file +
                ", expected rows of each class from 0 to 3" + advice);
  EXPECT_EQ(error(byClass + "class_weight: 1 class_weight: 1 }"),
            "sampler finds class 2 in field 'classes' of " + file +
                ", expected 0 to 1: class_weight has 2 values");
  EXPECT_EQ(draws(byClass + "class_weight: 1 class_weight: 0 class_weight: 1 }", 1).size(), 60u);
  classes[30] = -1;
  write(std::vector<double>(rowsToDraw), classes);
  EXPECT_EQ(error(byClass + "}"),
            "row 30 (from 0) of " + file +
                ": sampler finds -1 in field 'classes', expected a class of 0 or more");
  EXPECT_EQ(error("sampler { by_class: \"weights\" }"),
            "sampler reads field 'weights' of type f64 and shape [], expected one integer a row");
  EXPECT_EQ(error("sampler { weight: \"images\" }"),
            "sampler reads field 'images' of type u8 and shape [2, 2], expected one number a row");
}

TEST_F(SamplerTest, WrongBlocks) {
  writeUneven();
  EXPECT_EQ(
      error("sampler { }"),
      "sampler has neither weight nor by_class, expected one of them: add by_class: \"label\"");
  EXPECT_EQ(error("sampler { weight: \"weights\" by_class: \"classes\" }"),
            "sampler has weight and by_class, expected one of them: add by_class: \"label\"");
  EXPECT_EQ(error("sampler { weight: \"weights\" class_weight: 1 }"),
            "sampler { class_weight } is that of by_class, expected none beside weight");
  EXPECT_EQ(error("sampler { by_class: \"classes\" class_weight: 0 }"),
            "sampler { class_weight } is 0 for all classes, expected one above 0");
  EXPECT_EQ(error("sampler { by_class: \"classes\" class_weight: -2 }"),
            "sampler { class_weight } is -2, expected a finite number of 0 or more");
  EXPECT_EQ(error("sampler { weight: \"weights\" rows: 0 }"),
            "sampler { rows } is 0, expected 1 or more");
  for (auto [stage, name] :
       {std::pair("cache { }", "cache"), std::pair("repeat { times: 2 }", "repeat"),
        std::pair("filter { field: \"labels\" }", "filter"),
        std::pair("map { field: \"images\" standardize { } }", "standardize")})
    EXPECT_EQ(error(std::string("sampler { weight: \"weights\" } ") + stage),
              std::string("data stage '") + name + "' comes after sampler, expected before it");
}

} // namespace
