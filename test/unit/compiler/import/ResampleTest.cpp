// Pad, Resize, and Gather: indices that become movement, and matrices.
#include "dialects/Pch.h"

#include "OneNode.h"

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
  OneNode odd = resize({211}, {307}, "half_pixel", "nearest");
  EXPECT_EQ(count<MatmulOp>(odd), 1);
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
  onnx::AttributeProto &scales = *one.node().add_attribute();
  scales.set_name("scales");
  scales.set_type(6);
  scales.add_floats(1);
  scales.add_floats(2);
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
