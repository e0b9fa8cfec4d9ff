// Mixed batches: mixup and cutmix of each row with the row before it.
#include "DataTesting.h"
#include "runtime/base/Text.h"
#include "runtime/data/stage/MixDraw.h"

#include <algorithm>
#include <cmath>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

TEST(MixDrawTest, BetaHasItsMomentsAndQuantiles) {
  constexpr int count = 200'000;
  for (double alpha : {0.01, 0.1, 0.2, 0.5, 0.99, 1.0, 1.5, 2.0, 8.0, 1000.0}) {
    Random random(7, uint64_t(alpha * 100));
    double sum = 0, squares = 0, fourths = 0;
    int below = 0; // 0.1
    for (int i = 0; i < count; ++i) {
      double value = drawBeta(random, alpha), offset = value - 0.5;
      ASSERT_TRUE(value >= 0 && value <= 1) << value;
      sum += offset;
      squares += offset * offset;
      fourths += offset * offset * offset * offset;
      below += value < 0.1;
    }
    double variance = 1 / (4 * (2 * alpha + 1)); // of Beta(alpha, alpha), whose mean is 1/2
    double mean = sum / count, found = squares / count;
    EXPECT_LT(std::abs(mean), 4 * std::sqrt(variance / count)) << alpha;
    double deviation = std::sqrt((fourths / count - found * found) / count);
    EXPECT_LT(std::abs(found - variance), 4 * deviation + 1e-12) << alpha;
    // 3 x^2 - 2 x^3 for 2, and 2 / pi asin(sqrt(x)) for 0.5.
    for (auto [of, share] : {std::pair(1.0, 0.1), std::pair(2.0, 0.028), std::pair(0.5, 0.2048)})
      if (of == alpha) {
        EXPECT_NEAR(double(below) / count, share, 0.004) << alpha;
      }
  }
}

TEST(MixDrawTest, BetaIsHalfOfManyAndEitherOfFew) {
  Random random(1, 2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_NEAR(drawBeta(random, 1e12), 0.5, 1e-4);
    double value = drawBeta(random, 1e-6);
    EXPECT_TRUE(value < 1e-9 || value > 1 - 1e-9) << value;
  }
}

TEST(MixDrawTest, BoxesAreTorchvisions) {
  for (uint64_t stream = 0; stream < 50; ++stream) {
    Random random(3, stream), same(3, stream);
    auto x = int64_t(same.below(12)), y = int64_t(same.below(8));
    // sqrt(1 - 0.75) / 2 of each side, rounded down.
    Box box = drawBox(random, 0.75, 8, 12);
    EXPECT_EQ(box.left, std::max<int64_t>(x - 3, 0));
    EXPECT_EQ(box.right, std::min<int64_t>(x + 3, 12));
    EXPECT_EQ(box.top, std::max<int64_t>(y - 2, 0));
    EXPECT_EQ(box.bottom, std::min<int64_t>(y + 2, 8));
    EXPECT_EQ(drawBox(random, 1, 8, 12).area(), 0);
    EXPECT_GE(drawBox(random, 0, 8, 12).area(), 4 * 6);
  }
}

/// 12 rows of 24 numbers, 100 * row + 0..23, as pictures "p" [1, 4, 6], "q" [2, 3, 4] and
/// "r" [4, 3, 2], and a label, the row's number.
class MixTest : public testing::Test {
protected:
  static constexpr size_t rows = 12, numbers = 24;

  MixTest() {
    context.folders = {folder.path};
    context.seed = 5;
    std::vector<float> pixels(rows * numbers);
    for (size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = float(i / numbers * 100 + i % numbers);
    std::vector<int64_t> labels(rows);
    for (size_t i = 0; i < rows; ++i)
      labels[i] = int64_t(i);
    writeFile(folder / "pictures.npz", zip({{"p.npy", npy("<f4", "(12, 1, 4, 6)", bytesOf(pixels))},
                                            {"q.npy", npy("<f4", "(12, 2, 3, 4)", bytesOf(pixels))},
                                            {"r.npy", npy("<f4", "(12, 4, 3, 2)", bytesOf(pixels))},
                                            {"label.npy", npy("<i8", "(12,)", bytesOf(labels))}}));
    demand("p", {1, 4, 6});
  }

  void demand(const char *field, std::vector<int64_t> shape) {
    context.demands = {{field, "x", GRADC_F32, std::move(shape), 0},
                       {"label", "y", GRADC_F32, {12}, 12}};
  }
  static std::string data(const std::string &mix, const std::string &more = "batch { size: 5 } ") {
    return "source { npz { path: \"pictures.npz\" } } map { field: \"label\" one_hot { classes: 12 "
           "} } shuffle { } " +
           more + mix;
  }
  static std::string mix(const std::string &ways, const std::string &field = "p") {
    return "mix { field: \"" + field + "\" label: \"label\" " + ways + " } ";
  }

  struct Mixed {
    std::vector<float> pixels, labels;
    Position after;
    size_t count() const { return pixels.size() / numbers; }
    const float *row(size_t index) const { return &pixels[index * numbers]; }
    bool operator==(const Mixed &) const = default;
  };
  std::vector<Mixed> run(const std::string &block, int batches, Position begin = {},
                         RankShare share = {}) {
    context.share = share;
    std::vector<Mixed> all;
    auto dataset = build(block, context);
    EXPECT_TRUE(dataset.ok()) << dataset.status().message();
    if (!dataset)
      return all;
    auto iterator = (*dataset)->iterate();
    EXPECT_TRUE(iterator->restore(begin).ok());
    Batch batch = (*dataset)->allocate();
    for (int i = 0; i < batches; ++i) {
      Status status = iterator->next(batch);
      EXPECT_TRUE(status.ok()) << status.message();
      auto *pixels = reinterpret_cast<const float *>(batch.field(0));
      auto *labels = reinterpret_cast<const float *>(batch.field(1));
      auto count = size_t(batch.rows);
      all.push_back(
          {{pixels, pixels + count * numbers}, {labels, labels + count * rows}, batch.after});
    }
    return all;
  }

  static size_t before(size_t row, size_t count) { return (row + count - 1) % count; }
  /// The row that an unmixed row of the batch has been.
  static size_t numberOf(const Mixed &plain, size_t row) { return size_t(plain.row(row)[0]) / 100; }
  /// The share of its own label that each row of a batch keeps; the rest is the label of the row
  /// before.
  static float keptOf(const Mixed &mixed, const Mixed &plain) {
    size_t count = plain.count();
    EXPECT_EQ(mixed.count(), count);
    float kept = mixed.labels[numberOf(plain, 0)];
    for (size_t row = 0; row < count; ++row)
      for (size_t label = 0; label < rows; ++label) {
        float found = mixed.labels[row * rows + label];
        if (label == numberOf(plain, row))
          EXPECT_EQ(found, kept);
        else
          EXPECT_NEAR(found, label == numberOf(plain, before(row, count)) ? 1 - kept : 0, 1e-6);
      }
    return kept;
  }
  static bool isMixedUp(const Mixed &mixed, const Mixed &plain, float kept) {
    for (size_t row = 0; row < plain.count(); ++row)
      for (size_t i = 0; i < numbers; ++i) {
        float own = plain.row(row)[i], other = plain.row(before(row, plain.count()))[i];
        if (std::abs(mixed.row(row)[i] - (kept * own + (1 - kept) * other)) > 1e-3f)
          return false;
      }
    return true;
  }

  TemporaryFolder folder;
  DataContext context;
};

TEST_F(MixTest, MixupMixesEachRowWithTheRowBefore) {
  auto plain = run(data(""), 6), mixed = run(data(mix("mixup { alpha: 1 }")), 6);
  std::vector<float> shares;
  for (size_t i = 0; i < plain.size(); ++i) {
    // The last batch of an epoch has two rows.
    EXPECT_EQ(plain[i].count(), i % 3 == 2 ? 2u : 5u);
    shares.push_back(keptOf(mixed[i], plain[i]));
    EXPECT_TRUE(isMixedUp(mixed[i], plain[i], shares.back())) << i;
    EXPECT_EQ(mixed[i].after, plain[i].after);
  }
  // Each batch draws its own share.
  std::ranges::sort(shares);
  EXPECT_EQ(std::ranges::adjacent_find(shares), shares.end());
  // A batch of one row has nothing to be mixed with.
  EXPECT_EQ(run(data(mix("mixup { }"), "take { rows: 1 } batch { size: 5 } "), 2),
            run(data("", "take { rows: 1 } batch { size: 5 } "), 2));
}

TEST_F(MixTest, CutmixPastesOneBoxAndMixesLabelsByItsArea) {
  struct Layout {
    const char *field;
    std::vector<int64_t> shape;
    const char *cutmix;
    size_t height, width, planes, depth;
  };
  for (const Layout &layout :
       {Layout{"p", {1, 4, 6}, "cutmix { alpha: 0.7 }", 4, 6, 1, 1},
        Layout{"q", {2, 3, 4}, "cutmix { }", 3, 4, 2, 1},
        Layout{"r", {4, 3, 2}, "cutmix { channels_first: false }", 4, 3, 1, 2}}) {
    demand(layout.field, layout.shape);
    auto plain = run(data(""), 30), mixed = run(data(mix(layout.cutmix, layout.field)), 30);
    size_t pixels = layout.height * layout.width, boxes = 0;
    for (size_t i = 0; i < plain.size(); ++i) {
      const Mixed &batch = mixed[i];
      float kept = keptOf(batch, plain[i]);
      // All rows and channels have the box of the first one.
      size_t top = pixels, bottom = 0, left = pixels, right = 0, area = 0;
      std::vector<bool> isTaken(pixels);
      for (size_t row = 0; row < batch.count(); ++row)
        for (size_t at = 0; at < numbers; ++at) {
          size_t pixel = at / layout.depth % pixels, y = pixel / layout.width,
                 x = pixel % layout.width;
          const float *other = plain[i].row(before(row, batch.count()));
          bool isOther = batch.row(row)[at] == other[at];
          if (row == 0 && at == pixel * layout.depth && isOther) {
            isTaken[pixel] = true;
            top = std::min(top, y), bottom = std::max(bottom, y + 1);
            left = std::min(left, x), right = std::max(right, x + 1);
            ++area;
          }
          EXPECT_EQ(isOther, isTaken[pixel]);
          EXPECT_EQ(batch.row(row)[at], isTaken[pixel] ? other[at] : plain[i].row(row)[at]);
        }
      EXPECT_EQ(area, area ? (bottom - top) * (right - left) : 0);
      EXPECT_FLOAT_EQ(kept, 1 - float(area) / float(pixels));
      boxes += area > 0;
    }
    EXPECT_GT(boxes, 5u);
  }
}

TEST_F(MixTest, ProbabilitiesChoose) {
  const std::string both = "mixup { } cutmix { alpha: 0.2 } ";
  EXPECT_EQ(run(data(mix(both + "probability: 0")), 6), run(data(""), 6));
  EXPECT_EQ(run(data(mix(both + "cutmix_probability: 0")), 6), run(data(mix("mixup { }")), 6));
  EXPECT_EQ(run(data(mix(both + "cutmix_probability: 1")), 6),
            run(data(mix("cutmix { alpha: 0.2 }")), 6));
  auto plain = run(data(""), 90), mixed = run(data(mix(both + "probability: 0.6")), 90);
  int unmixed = 0, mixups = 0, cutmixes = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    float kept = keptOf(mixed[i], plain[i]);
    bool isMixup = isMixedUp(mixed[i], plain[i], kept);
    ++(mixed[i].pixels == plain[i].pixels ? unmixed : isMixup ? mixups : cutmixes);
  }
  // A box may also be empty.
  EXPECT_GT(unmixed, 20);
  EXPECT_GT(mixups, 12);
  EXPECT_GT(cutmixes, 4);
}

TEST_F(MixTest, ThreadsAndResumesDoNotMatter) {
  const std::string ways = mix("mixup { } cutmix { }");
  auto all = run(data(ways), 9);
  for (const char *threads :
       {"parallelism: 1 prefetch { }", "parallelism: 3 prefetch { depth: 2 }"})
    EXPECT_EQ(run(data(ways) + threads, 9), all) << threads;
  EXPECT_EQ(run(data(ways), 5, all[3].after), std::vector(all.begin() + 4, all.end()));
  EXPECT_EQ(run(data(ways, "batch { size: 5 } prefetch { } "), 9), all);
}

TEST_F(MixTest, RowsOfACacheAreMixedAnewInEachEpoch) {
  const std::string cache = "take { rows: 5 } cache { } batch { size: 5 } ";
  auto plain = run(data("", cache), 4), mixed = run(data(mix("mixup { }"), cache), 4);
  std::vector<float> shares;
  for (size_t i = 0; i < plain.size(); ++i)
    shares.push_back(keptOf(mixed[i], plain[i]));
  std::ranges::sort(shares);
  EXPECT_EQ(std::ranges::adjacent_find(shares), shares.end());
}

TEST_F(MixTest, RanksMixAsOneProcess) {
  for (const char *more : {"", "on_error: SKIP ", "parallelism: 2 "})
    for (const char *batch : {"batch { size: 5 } ", "batch { size: 11 } "}) {
      std::string block = data(mix("mixup { } cutmix { }"), std::string(more) + batch);
      auto whole = run(block, 7);
      for (int ranks : {2, 3, 8}) {
        std::vector<std::vector<Mixed>> parts;
        for (int rank = 0; rank < ranks; ++rank)
          parts.push_back(run(block, 7, {}, {rank, ranks}));
        for (size_t i = 0; i < whole.size(); ++i) {
          Mixed together;
          for (const std::vector<Mixed> &part : parts) {
            together.pixels.insert(together.pixels.end(), part[i].pixels.begin(),
                                   part[i].pixels.end());
            together.labels.insert(together.labels.end(), part[i].labels.begin(),
                                   part[i].labels.end());
            together.after = part[i].after;
          }
          EXPECT_EQ(together, whole[i]) << block << ranks << " ranks, batch " << i;
        }
      }
    }
}

TEST_F(MixTest, WrongBlocks) {
  auto error = [&](const std::string &mixing) { return buildError(data(mixing), context); };
  EXPECT_EQ(error("mix { label: \"label\" mixup { } }"), "mix has no field: add field: \"image\"");
  EXPECT_EQ(error("mix { field: \"p\" mixup { } }"),
            "mix has no label, which is mixed as the pictures are: add label: \"label\"");
  EXPECT_EQ(error(mix("")), "mix has neither mixup nor cutmix, expected one of them or both: add "
                            "mixup { alpha: 0.2 }");
  EXPECT_EQ(error(mix("mixup { alpha: 0 }")),
            "mixup { alpha } is 0, expected a finite number above 0");
  EXPECT_EQ(error(mix("mixup { } cutmix { alpha: -1 }")),
            "cutmix { alpha } is -1, expected a finite number above 0");
  EXPECT_EQ(error(mix("mixup { } probability: 1.5")),
            "mix { probability } is 1.5, expected 0 to 1");
  EXPECT_EQ(error(mix("mixup { } cutmix { } cutmix_probability: -1")),
            "mix { cutmix_probability } is -1, expected 0 to 1");
  EXPECT_EQ(error(mix("mixup { } cutmix_probability: 0.5")),
            "mix { cutmix_probability } chooses between mixup and cutmix, expected both of them "
            "beside it");
  EXPECT_EQ(error(mix("mixup { }", "label")), "mix names field 'label' twice");
  EXPECT_EQ(error(mix("mixup { }", "q")),
            "mix names field 'q', expected one that feeds the model: 'p' and 'label'");
  EXPECT_EQ(error(mix("mixup { }") + mix("cutmix { }")), "data stage 'mix' comes twice");
  EXPECT_EQ(buildError(data("batch { size: 5 }", mix("mixup { }")), context),
            "data stage 'mix' comes before batch, expected behind it");
}

TEST_F(MixTest, WrongFields) {
  auto error = [&](const std::string &mixing) {
    return buildError("source { npz { path: \"pictures.npz\" } } batch { size: 5 } " + mixing,
                      context);
  };
  context.demands[1] = {"label", "y", GRADC_I64, {}, 12};
  EXPECT_EQ(
      error(mix("mixup { }")),
      "mix makes distributions of labels, expected f32 in field 'label', found i64 (add stage "
      "{ map { field: \"label\" one_hot { classes: 10 } } } before batch)");
  EXPECT_EQ(error("mix { field: \"label\" label: \"p\" mixup { } }"),
            "mix expects f32 in field 'label', found i64 (add stage { map { field: \"label\" cast: "
            "F32 } } before batch)");
  context.demands[1] = {"label", "y", GRADC_F32, {12}, 12};
  EXPECT_EQ(buildError(data("mix { field: \"label\" label: \"p\" cutmix { } }"), context),
            "cutmix expects pictures in field 'label', which have height and width, or those and "
            "channels, found shape [12]");
  context.demands[1] = {"q", "y", GRADC_F32, {2, 3, 4}, 0};
  context.demands.push_back({"label", "z", GRADC_F32, {12}, 12});
  EXPECT_EQ(
      buildError(data("mix { field: \"p\" field: \"q\" label: \"label\" cutmix { } }"), context),
      "cutmix cuts one box out of pictures of one size, found 4 x 6 and, in field 'q', 3 x 4");
}

} // namespace
