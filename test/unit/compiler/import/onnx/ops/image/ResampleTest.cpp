// Pad, Resize, and Gather: indices that become movement, and matrices.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

class ResampleTest : public OneNodeTest {};

OneNode pad(const char *mode, const OneNode::Shape &pads, int64_t size = 3) {
  return OneNode("Pad", 19).input({size}).ints(pads).set("mode", mode);
}

TEST_F(ResampleTest, AntialiasingWeighsAllThatAResultCovers) {
  auto half = [] {
    return OneNode("Resize", 18)
        .input({4})
        .nothing()
        .floats({1}, {0.5})
        .set("mode", "linear")
        .set("antialias", int64_t(1));
  };
  expect(half(), {2}, {0.625, 2.375});
  expect(half().set("exclude_outside", int64_t(1)), {2}, {1.25f / 1.75f, 4.0f / 1.75f});
}

TEST_F(ResampleTest, PadsInEveryMode) {
  expect(pad("constant", {2, 1}), {6}, {0, 0, 0, 1, 2, 0});
  expect(pad("reflect", {2, 1}), {6}, {2, 1, 0, 1, 2, 1});
  expect(pad("edge", {2, 1}), {6}, {0, 0, 0, 1, 2, 2});
  expect(pad("wrap", {2, 1}), {6}, {1, 2, 0, 1, 2, 0});
}

TEST_F(ResampleTest, PadsMoreThanThereIs) {
  expect(pad("reflect", {4, 5}), {12}, {0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2, 1});
  expect(pad("wrap", {4, 5}), {12}, {2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1});
  expect(pad("reflect", {2, 1}, 1), {4}, {0, 0, 0, 0});
}

TEST_F(ResampleTest, NegativePadsCutOff) {
  expect(pad("constant", {-1, 2}), {4}, {1, 2, 0, 0});
  expect(pad("reflect", {-1, 2}), {4}, {1, 2, 1, 0});
  expect(pad("edge", {1, -2}), {2}, {0, 0});
  expect(pad("wrap", {-2, -1}), {0}, {});
}

TEST_F(ResampleTest, PadsSomeAxes) {
  expect(OneNode("Pad", 18).input({2, 2}).ints({1, 0}).nothing().ints({-1}).set("mode", "edge"),
         {2, 3}, {0, 0, 1, 2, 2, 3});
  expect(OneNode("Pad", 10).input({1, 2}).set("pads", OneNode::Shape{0, 1, 0, 0}).set("value", 7.0),
         {1, 3}, {7, 0, 1});
}

TEST_F(ResampleTest, SaysWhatIsWrongWithPads) {
  expectFails(pad("mirror", {1, 1, 1}),
              {"expected mode \"constant\", \"reflect\", \"edge\" or \"wrap\", found \"mirror\"",
               "expected 2 pads, found 3"});
  expectFails(pad("edge", {1, 0}, 0),
              {"expected elements along dim 0 of operand 0 (\"x0\", f32 [0]) in mode \"edge\""});
  expectFails(pad("wrap", {1 << 25, 0}),
              {"expected at most 16777216 elements along dim 0 in mode \"wrap\", found 33554435"});
  expectFails(pad("wrap", {-2, -2}), {"expected pads that fit operand 0"});
}

OneNode resize(const OneNode::Shape &shape, const OneNode::Shape &sizes, const char *coordinates,
               const char *mode = "linear") {
  return OneNode("Resize", 19)
      .input(shape)
      .nothing()
      .nothing()
      .ints(sizes)
      .set("coordinate_transformation_mode", coordinates)
      .set("mode", mode);
}

/// Result `i` of a list resized to `count` numbers, by ONNX's formula for half_pixel and a kernel:
/// linear, or cubic with coefficient -0.75.
double resized(const Floats &x, int64_t count, int64_t i, bool cubic, bool antialias = false) {
  double scale = double(count) / double(x.size()), shrink = antialias ? std::min(scale, 1.0) : 1;
  double at = (double(i) + 0.5) / scale - 0.5, sum = 0, weights = 0;
  for (int64_t k = -64; k < int64_t(x.size()) + 64; ++k) {
    double d = std::abs(double(k) - at) * shrink, a = -0.75;
    double weight = !cubic  ? std::max(1 - d, 0.0)
                    : d < 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1
                    : d < 2 ? a * (d * d * d - 5 * d * d + 8 * d - 4)
                            : 0;
    sum += weight * x[size_t(std::clamp<int64_t>(k, 0, int64_t(x.size()) - 1))];
    weights += weight;
  }
  return sum / weights;
}

/// Numbers whose neighbours differ.
Floats uneven(int64_t count) {
  Floats values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(float(i * i % 17) / 8);
  return values;
}

TEST_F(ResampleTest, ReadsTheElementsNearResultsOfLongDims) {
  struct {
    int64_t size, result;
    const char *mode;
    int64_t antialias;
    int reads, readsInTraining;
  } cases[] = {
      {120, 200, "linear", 0, 2, 0}, {120, 50, "linear", 0, 2, 0},  {301, 200, "cubic", 0, 4, 0},
      {600, 200, "linear", 1, 6, 0}, {640, 320, "cubic", 1, 8, 0},  {90, 200, "linear", 0, 0, 0},
      {190, 200, "cubic", 0, 0, 0},  {400, 900, "linear", 0, 2, 2}, {300, 130, "linear", 0, 2, 2},
      {601, 350, "cubic", 0, 4, 4},  {900, 301, "linear", 1, 6, 6}, {130, 1700, "linear", 0, 2, 0}};
  for (auto c : cases) {
    SCOPED_TRACE(std::to_string(c.size) + " " + c.mode);
    OneNode one = OneNode("Resize", 19)
                      .input({c.size}, uneven(c.size))
                      .nothing()
                      .nothing()
                      .ints({c.result})
                      .set("mode", c.mode)
                      .set("antialias", c.antialias);
    EXPECT_EQ(count<GatherOp>(one), c.reads);
    EXPECT_EQ(count<MatmulOp>(one), c.reads ? 0 : 1);
    EXPECT_EQ(count<GatherOp>(differentiated(one)), c.readsInTraining);
    EXPECT_EQ(count<MatmulOp>(differentiated(one)), c.readsInTraining ? 0 : 1);
    Floats expected;
    for (int64_t i = 0; i < c.result; ++i)
      expected.push_back(
          float(resized(one.data[0], c.result, i, StringRef(c.mode) == "cubic", c.antialias)));
    expect(one, {c.result}, expected);
  }
}

/// Rows are cheaper to read than single elements, so that shorter lists of rows are read, too.
/// Dims that shrink are resized first.
TEST_F(ResampleTest, ReadsRowsBeforeTheirElements) {
  Floats column = uneven(40), row = uneven(120), all, expected;
  for (float a : column)
    for (float b : row)
      all.push_back(a + b);
  for (int64_t i = 0; i < 30; ++i)
    for (int64_t j = 0; j < 50; ++j)
      expected.push_back(float(resized(column, 30, i, false) + resized(row, 50, j, false)));
  OneNode one = resize({40, 120}, {30, 50}, "half_pixel");
  one.data[0] = all;
  EXPECT_EQ(count<GatherOp>(one), 4);
  EXPECT_EQ(count<MatmulOp>(one), 0);
  expect(one, {30, 50}, expected);
  auto firstRead = [&](const OneNode &node) {
    auto imported = import(node);
    OneNode::Shape shape;
    if (succeeded(imported))
      imported->module.get()->walk([&](GatherOp op) {
        if (shape.empty())
          shape.assign(op.getType().getShape().begin(), op.getType().getShape().end());
      });
    return shape;
  };
  EXPECT_EQ(firstRead(one), OneNode::Shape({30, 120}));
  EXPECT_EQ(firstRead(resize({40, 120}, {60, 50}, "half_pixel")), OneNode::Shape({40, 50}));
}

/// Small dims of rows are multiplied by a matrix where gradients flow, and their dims keep the
/// order of products.
TEST_F(ResampleTest, TrainingMultipliesSmallDims) {
  auto both = [&](const OneNode &one) {
    return std::pair(count<GatherOp>(one), count<MatmulOp>(one));
  };
  OneNode small = resize({40, 64}, {30, 128}, "half_pixel");
  EXPECT_EQ(both(small), std::pair(2, 1));
  EXPECT_EQ(both(differentiated(small)), std::pair(0, 2));
  EXPECT_EQ(both(differentiated(resize({40, 640}, {30, 320}, "half_pixel"))), std::pair(2, 1));
  EXPECT_EQ(both(differentiated(resize({65, 65}, {513, 513}, "half_pixel"))), std::pair(2, 1));
}

TEST_F(ResampleTest, ReadsInsideARegionAlone) {
  OneNode one = OneNode("Resize", 19)
                    .input({201})
                    .floats({2}, {0.5, 1.5})
                    .nothing()
                    .ints({101})
                    .set("mode", "linear")
                    .set("coordinate_transformation_mode", "tf_crop_and_resize")
                    .set("extrapolation_value", -1.0);
  EXPECT_EQ(count<GatherOp>(one), 2);
  Floats expected;
  for (int i = 0; i < 101; ++i)
    expected.push_back(i <= 50 ? 100.0f + 2 * float(i) : -1.0f);
  expect(one, {101}, expected);
}

TEST_F(ResampleTest, ReadsAnInfinityOnlyNearby) {
  Floats x(120, 1.0f);
  x[60] = std::numeric_limits<float>::infinity();
  OneNode one = resize({120}, {240}, "half_pixel");
  one.data[0] = x;
  auto results = run(one);
  ASSERT_EQ(results.size(), 1u);
  for (int i = 0; i < 240; ++i)
    EXPECT_EQ(std::isfinite(results[0].getFloat(i)), i < 119 || i > 122) << i;
}

TEST_F(ResampleTest, ResizesInEveryCoordinateMode) {
  expect(resize({3}, {6}, "half_pixel"), {6}, {0, 0.25, 0.75, 1.25, 1.75, 2});
  expect(resize({3}, {5}, "align_corners"), {5}, {0, 0.5, 1, 1.5, 2});
  expect(resize({3}, {6}, "asymmetric"), {6}, {0, 0.5, 1, 1.5, 2, 2});
  expect(resize({3}, {1}, "half_pixel"), {1}, {1});
  expect(resize({3}, {1}, "pytorch_half_pixel"), {1}, {0});
  expect(resize({3}, {1}, "align_corners"), {1}, {0});
  // Result sizes are the operand's times the scale, rounded down: 4 * 0.6 = 2.4 becomes 2, and the
  // middle stays in the middle.
  expect(OneNode("Resize", 19)
             .input({4})
             .nothing()
             .floats({1}, {0.6f})
             .set("coordinate_transformation_mode", "half_pixel_symmetric")
             .set("mode", "linear"),
         {2}, {0.6666667f, 2.3333333f});
}

/// 3 * 1.5 = 4.5 elements become 4.
TEST_F(ResampleTest, AlignsTheCornersOfWholeResultsAsPyTorchDoes) {
  OneNode one = OneNode("Resize", 19)
                    .input({3})
                    .nothing()
                    .floats({1}, {1.5f})
                    .set("coordinate_transformation_mode", "align_corners")
                    .set("mode", "linear");
  expect(one, {4}, {0, 2 / 3.5f, 4 / 3.5f, 6 / 3.5f});
  one.model.set_producer_name("pytorch");
  expect(one, {4}, {0, 2 / 3.0f, 4 / 3.0f, 2});
}

TEST_F(ResampleTest, ResizesToTheNearestByMoving) {
  OneNode twice = resize({1, 3}, {2, 6}, "asymmetric", "nearest");
  expect(twice, {2, 6}, {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2});
  EXPECT_EQ(count<MatmulOp>(twice) + count<SliceOp>(twice) + count<ConcatenateOp>(twice), 0);
  OneNode half = resize({6}, {3}, "asymmetric", "nearest");
  expect(half, {3}, {0, 2, 4});
  EXPECT_EQ(count<SliceOp>(half), 1);
  // Three elements from two, repeatedly: three slices, however long the dim.
  OneNode uneven = resize({400}, {600}, "asymmetric", "nearest");
  EXPECT_EQ(count<SliceOp>(uneven), 3);
  EXPECT_EQ(count<MatmulOp>(uneven), 0);
  EXPECT_EQ(count<SliceOp>(differentiated(uneven)), 3);
  // With a gradient, which pads each slice, more than three are a gather.
  OneNode many = resize({64}, {100}, "asymmetric", "nearest");
  EXPECT_EQ(count<GatherOp>(many), 0);
  EXPECT_EQ(count<GatherOp>(differentiated(many)), 1);
  EXPECT_EQ(count<SliceOp>(differentiated(many)), 0);
  EXPECT_EQ(count<GatherOp>(differentiated(resize({5}, {80}, "half_pixel", "nearest"))), 0);
  // Here an element has more readers than there are slices: of the last, 23.
  EXPECT_EQ(count<GatherOp>(differentiated(resize({5}, {80}, "asymmetric", "nearest"))), 0);
  OneNode odd = resize({211}, {307}, "half_pixel", "nearest");
  EXPECT_EQ(count<GatherOp>(odd), 1);
  EXPECT_EQ(count<MatmulOp>(odd), 0);
  EXPECT_EQ(count<GatherOp>(differentiated(odd)), 1);
  EXPECT_EQ(count<MatmulOp>(differentiated(odd)), 0);
  // An element that many results read has a gradient of as many terms.
  OneNode large = resize({67}, {2700}, "half_pixel", "nearest");
  EXPECT_EQ(count<GatherOp>(large), 1);
  EXPECT_EQ(count<MatmulOp>(differentiated(large)), 1);
  auto results = run(odd);
  ASSERT_EQ(results.size(), 1u);
  for (int i = 0; i < 307; ++i)
    EXPECT_EQ(results[0].getFloat(i), std::ceil((i + 0.5) * 211 / 307 - 1));
}

TEST_F(ResampleTest, ResizesSomeAxesAndKeepsTheRatio) {
  OneNode one = resize({2, 4}, {1, 1}, "asymmetric", "nearest").set("axes", OneNode::Shape{1, 0});
  expect(OneNode(one).set("keep_aspect_ratio_policy", "not_larger"), {1, 1}, {0});
  expect(OneNode(one).set("keep_aspect_ratio_policy", "not_smaller"), {1, 2}, {0, 2});
}

TEST_F(ResampleTest, UpsamplesByAnAttribute) {
  OneNode one = OneNode("Upsample", 7).input({1, 2}).set("mode", "linear");
  NodeBuilder(one.node()).set("scales", ArrayRef<float>({1, 2}));
  expect(one, {1, 4}, {0, 0.5, 1, 1});
}

/// ONNX's case test_resize_downsample_nearest of version 1.5.
TEST_F(ResampleTest, OldResizePicksTheNextElementInDimsThatShrink) {
  Floats x{1, 2, 3, 4, 5, 6, 7, 8};
  expect(OneNode("Resize", 10).input({1, 1, 2, 4}, x).floats({4}, {1, 1, 0.6f, 0.6f}), {1, 1, 1, 2},
         {1, 3});
  expect(OneNode("Resize", 10).input({2}).floats({1}, {1.5}), {3}, {0, 0, 1});
}

TEST_F(ResampleTest, SaysWhatIsWrongWithResize) {
  expectFails(resize({3}, {6}, "somehow", "fancy"),
              {"expected mode to be one of nearest, linear, cubic, found \"fancy\"",
               "expected coordinate_transformation_mode to be one of half_pixel,"});
  expectFails(resize({3}, {6, 6}, "half_pixel"), {"expected 1 sizes, found 2"});
  expectFails(OneNode("Resize", 13).input({3}), {"Resize has neither scales nor sizes"});
  expectFails(OneNode("Resize", 13).input({3}).nothing().floats({1}, {-1}),
              {"expected scales above 0, found -1"});
  expectFails(OneNode("Resize", 11)
                  .input({3}, {1, 2, 3}, /*uint8*/ 2)
                  .nothing()
                  .floats({1}, {2})
                  .set("mode", "linear"),
              {"Resize of dim 0 of operand 0 (\"x0\", ui8 [3]) to 6 is not supported in mode "
               "\"linear\""});
}

TEST_F(ResampleTest, GathersRepeatedAndInterleavedIndices) {
  auto gather = [](const OneNode::Shape &indices) {
    return OneNode("Gather", 13).input({4}).ints(indices);
  };
  expect(gather({2, 2, 2}), {3}, {2, 2, 2});
  expect(gather({0, 1, 1, 2, 2, 3}), {6}, {0, 1, 1, 2, 2, 3});
  expect(gather({3, 2, 1, 0, 0}), {5}, {3, 2, 1, 0, 0});
  expect(gather({0, 0, 3, 0, 0, 3}), {6}, {0, 0, 3, 0, 0, 3});
}

} // namespace
