// Maps that change several fields of a row with the same random numbers.
#include "DataTesting.h"
#include "runtime/data/Random.h"

using namespace gradc::runtime;
using namespace gradc::runtime::test;

namespace {

/// Two fields of equal pictures, "p" and "m", in which each pixel has a number of its own.
class AlikeMapsTest : public testing::Test {
protected:
  AlikeMapsTest() {
    context.folders = {folder.path};
    context.seed = 5;
    std::vector<uint8_t> pixels(size_t(rows * 20));
    for (size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = uint8_t(i);
    std::vector<uint8_t> small(size_t(rows * 6));
    writeFile(folder / "pictures.npz",
              zip({{"p.npy", npy("|u1", "(12, 5, 4, 1)", bytesOf(pixels))},
                   {"m.npy", npy("|u1", "(12, 5, 4, 1)", bytesOf(pixels))},
                   {"small.npy", npy("|u1", "(12, 3, 2, 1)", bytesOf(small))}}));
    demand(5, 4);
  }

  void demand(int64_t height, int64_t width) {
    context.demands = {{"p", "x", GRADC_F32, {height, width, 1}, 0},
                       {"m", "y", GRADC_F32, {height, width, 1}, 0}};
  }
  static std::string data(const std::string &maps, const std::string &settings = "") {
    return "source { npz { path: \"pictures.npz\" } } " + maps +
           R"(map { field: "p" field: "m" cast: F32 } shuffle { } batch { size: 6 } )" + settings;
  }
  static std::string map(const std::string &fields, const std::string &step) {
    std::string named;
    for (char name : fields)
      named += std::string("field: \"") + name + "\" ";
    return "map { " + named + step + " } ";
  }

  /// The pixels of both fields in the batches that follow a position.
  struct Run {
    std::vector<float> p, m;
  };
  Run run(const std::string &block, int batches = 4, Position begin = {}) {
    Run result;
    auto dataset = build(block, context);
    EXPECT_TRUE(dataset.ok()) << dataset.status().message();
    if (!dataset)
      return result;
    auto iterator = (*dataset)->iterate();
    EXPECT_TRUE(iterator->restore(begin).ok());
    Batch batch = (*dataset)->allocate();
    size_t count = 6 * (*dataset)->fields()[0].elements();
    for (int i = 0; i < batches; ++i) {
      Status status = iterator->next(batch);
      EXPECT_TRUE(status.ok()) << status.message();
      for (auto [values, field] : {std::pair(&result.p, 0), std::pair(&result.m, 1)}) {
        auto *pixels = reinterpret_cast<const float *>(batch.field(size_t(field)));
        values->insert(values->end(), pixels, pixels + count);
      }
    }
    return result;
  }

  static constexpr int64_t rows = 12;
  const std::string flip = "flip { vertical: 0.5 }",
                    crop = "random_crop { height: 3 width: 2 padding: 1 fill: 7 }";
  TemporaryFolder folder;
  DataContext context;
};

TEST_F(AlikeMapsTest, FieldsOfOneMapDrawTheSameNumbers) {
  Run unchanged = run(data(""));
  EXPECT_EQ(unchanged.p, unchanged.m);
  Run flipped = run(data(map("pm", flip)));
  EXPECT_EQ(flipped.p, flipped.m);
  EXPECT_NE(flipped.p, unchanged.p);
  Run apart = run(data(map("p", flip) + map("m", flip)));
  EXPECT_NE(apart.p, apart.m);

  // The numbers do not depend on whether a field's steps are one pass.
  demand(3, 2);
  Run both = run(data(map("pm", flip) + map("pm", crop)));
  EXPECT_EQ(both.p, both.m);
  Run split = run(data(map("pm", flip) + map("p", "color_jitter { }") + map("pm", crop)));
  EXPECT_EQ(split.p, split.m);
  Run joined = run(data(map("p", "crop { height: 5 width: 4 }") + map("pm", flip) +
                        map("m", "flip { horizontal: 0 }") + map("pm", crop)));
  EXPECT_EQ(joined.p, joined.m);
}

TEST_F(AlikeMapsTest, ColorsOfSeveralPicturesChangeAlike) {
  Run jittered = run(data(map("pm", "color_jitter { brightness: 0.9 }")));
  EXPECT_EQ(jittered.p, jittered.m);
  EXPECT_NE(jittered.p, run(data("")).p);
}

TEST_F(AlikeMapsTest, TwoMapsDrawDifferentNumbers) {
  // Where one flip happens and the other does not, a row is not what it was.
  Run twice = run(data(map("pm", "flip { }") + map("pm", "flip { }")));
  EXPECT_EQ(twice.p, twice.m);
  EXPECT_NE(twice.p, run(data("")).p);
  // Nor does a map of one field behind them draw what they drew.
  Run own = run(data(map("pm", "flip { }") + map("p", "flip { }")));
  EXPECT_NE(own.p, own.m);
  EXPECT_NE(own.p, run(data("")).p);
}

TEST_F(AlikeMapsTest, ThreadsAndResumesDoNotMatter) {
  demand(3, 2);
  std::string maps = map("pm", flip) + map("pm", crop);
  Run all = run(data(maps));
  for (const char *threads :
       {"parallelism: 1 prefetch { }", "parallelism: 3 prefetch { depth: 2 }"})
    EXPECT_EQ(run(data(maps, threads)).m, all.m) << threads;
  // Two batches are one epoch.
  Run rest = run(data(maps), 3, {0, 6});
  EXPECT_EQ(rest.p, std::vector(all.p.begin() + ptrdiff_t(all.p.size() / 4), all.p.end()));
  EXPECT_EQ(rest.m, rest.p);
}

TEST_F(AlikeMapsTest, WrongMaps) {
  auto error = [&](const std::string &maps) { return buildError(data(maps), context); };
  EXPECT_EQ(error(map("pp", flip)), "map names field 'p' twice");
  EXPECT_EQ(error(map("pq", flip)),
            "map names field 'q', expected one that feeds the model: 'p' and 'm'");
  context.demands[1].field = "small";
  EXPECT_EQ(error(R"(map { field: "p" field: "small" random_crop { height: 2 width: 2 } } )"),
            "random_crop cuts pictures of one size at the same place, found field 'p' of shape "
            "[5, 4, 1] and field 'small' of shape [3, 2, 1]");
}

TEST(RandomTest, AnotherStageHasItsOwnNumbers) {
  Random other = Random(7, 3, 2, int64_t(5) << 33 | 1), expected(7, 9, 2, int64_t(5) << 33 | 1);
  (void)other.next();
  other = other.ofStage(9);
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(other.next(), expected.next());
}

} // namespace
