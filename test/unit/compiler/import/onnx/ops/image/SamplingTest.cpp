// Nodes that read pictures between pixels: what ONNX's cases leave out, and errors.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

constexpr int32_t int64 = 7, f16 = 10;
constexpr float infinity = std::numeric_limits<float>::infinity();

class SamplingTest : public OneNodeTest {};

OneNode line(const char *outside, std::vector<float> positions) {
  return OneNode("GridSample", 20)
      .input({1, 1, 4})
      .input({1, int64_t(positions.size()), 1}, positions)
      .set("align_corners", int64_t(1))
      .set("padding_mode", outside);
}

TEST_F(SamplingTest, PositionsFarOutside) {
  // Pixels lie at -1, -1/3, 1/3 and 1.
  std::vector<float> positions{-3, 0, 5, infinity};
  expect(line("zeros", positions), {1, 1, 4}, {0, 1.5f, 0, 0});
  expect(line("border", positions), {1, 1, 4}, {0, 1.5f, 3, 3});
  expect(line("reflection", {-3, 0, 5, -1 - 2.0f / 3}), {1, 1, 4}, {3, 1.5f, 3, 1});
}

/// Half a pixel outside, a cubic kernel still reads the pixel next to the border's.
TEST_F(SamplingTest, PixelsOfACubicKernelMoveToTheBorder) {
  std::vector<float> positions{-3, -4.0f / 3, 0, 4.0f / 3, 5, infinity};
  expect(line("border", positions).set("mode", "cubic"), {1, 1, 6},
         {0, -0.09375f, 1.5f, 3.09375f, 3, 3});
}

/// A picture of 0, 1, 2 and 3 grows by 1 from left to right and by 2 from top to bottom.
TEST_F(SamplingTest, ShortGridsAreLists) {
  for (OneNode::Shape grid : {OneNode::Shape{5, 3}, OneNode::Shape{2, 16}}) {
    Floats positions, expected;
    for (int64_t i = 0; i < grid[0] * grid[1]; ++i) {
      float x = float(i % 7) / 3 - 1, y = float(i % 5) / 2 - 1;
      positions.insert(positions.end(), {x, y});
      expected.push_back((x + 1) / 2 + (y + 1));
    }
    OneNode one = OneNode("GridSample", 20)
                      .input({1, 1, 2, 2})
                      .input({1, grid[0], grid[1], 2}, positions)
                      .set("align_corners", int64_t(1));
    expect(one, {1, 1, grid[0], grid[1]}, expected);
    auto imported = import(one);
    ASSERT_TRUE(succeeded(imported)) << everything();
    imported->module.get()->walk([&](GatherOp gather) {
      EXPECT_EQ(gather.getType().getRank(), grid[1] < 16 ? 3 : 4) << grid[1];
    });
  }
}

TEST_F(SamplingTest, WhatIsNotReadIsNotMultiplied) {
  expect(
      OneNode("GridSample", 16).input({1, 1, 1, 2}, {infinity, 7}).input({1, 1, 1, 2}, {1.5f, 0}),
      {1, 1, 1, 1}, {0});
}

TEST_F(SamplingTest, ShortFloatsAreWidened) {
  expect(OneNode("GridSample", 22)
             .input({1, 1, 3}, {0, 100, 1000}, f16)
             .input({1, 1, 1}, {0.5f}, f16)
             .set("align_corners", int64_t(1)),
         {1, 1, 1}, {550});
}

TEST_F(SamplingTest, SaysWhatAGridNeeds) {
  expectFails(
      OneNode("GridSample", 20).input({1, 1, 2, 2}).input({1, 1, 1, 3}),
      {"expected pictures [N, C, d...] and a grid [N, d..., 2], found operand 0 (\"x0\", f32 "
       "[1, 1, 2, 2]) and operand 1 (\"x1\", f32 [1, 1, 1, 3])"});
  expectFails(OneNode("GridSample", 20).input({1, 0, 2, 2}).input({1, 1, 1, 2}),
              {"expected a picture, found"});
  expectFails(line("wrap", {0}),
              {"expected padding_mode zeros, border or reflection, found \"wrap\""});
  expectFails(line("zeros", {0}).set("mode", "area"),
              {"expected mode nearest, linear or cubic, found \"area\""});
  expectFails(OneNode("GridSample", 20)
                  .input({1, 1, 2, 2, 2, 2})
                  .input({1, 1, 1, 1, 1, 4})
                  .set("mode", "cubic"),
              {"of 4 spatial dims is not supported: expected at most 6, and 3 with mode cubic"});
}

OneNode regions(int64_t samples) {
  return OneNode("RoiAlign", 16)
      .input({1, 1, 3, 3})
      .input({1, 4}, {0, 0, 2, 2})
      .input({1}, {0}, int64)
      .set("sampling_ratio", samples);
}

TEST_F(SamplingTest, RegionsOfPictures) {
  expect(regions(2).set("coordinate_transformation_mode", "output_half_pixel"), {1, 1, 1, 1}, {4});
  expectFails(regions(0), {"with a sampling_ratio of 0 is not supported: expected 1 to 64; with 0, "
                           "the number of points would depend on a region's size"});
  expectFails(regions(1).set("mode", "sum"), {"expected mode avg or max, found \"sum\""});
  expectFails(regions(1).set("coordinate_transformation_mode", "none"),
              {"expected coordinate_transformation_mode half_pixel or output_half_pixel"});
  expectFails(regions(1).set("output_height", int64_t(0)),
              {"expected an output_height and output_width of at least 1, found 0 and 1"});
  expectFails(OneNode("RoiAlign", 16)
                  .input({1, 1, 3, 3})
                  .input({1, 5})
                  .input({1}, {0}, int64)
                  .set("sampling_ratio", int64_t(1)),
              {"expected pictures, four coordinates of each region and its picture, found"});
}

/// Indices choose among whole rows of channels, so that gradients are added up by rows.
TEST_F(SamplingTest, RegionsReadRowsOfChannels) {
  OneNode two = OneNode("RoiAlign", 16)
                    .input({1, 2, 3, 3})
                    .input({1, 4}, {0, 0, 2, 2})
                    .input({1}, {0}, int64)
                    .set("sampling_ratio", int64_t(1))
                    .set("output_width", int64_t(2))
                    .set("coordinate_transformation_mode", "output_half_pixel");
  expect(two, {1, 2, 1, 2}, {3.5, 4.5, 12.5, 13.5});
  expect(OneNode(two).set("mode", "max"), {1, 2, 1, 2}, {2, 2.5, 6.5, 7});
  auto imported = import(two);
  ASSERT_TRUE(succeeded(imported)) << everything();
  imported->module.get()->walk([](GatherOp op) {
    EXPECT_EQ(op.getDims(), ArrayRef<int64_t>({-1, -2, -3, 3}));
    EXPECT_EQ(op.getIndexDims(), ArrayRef<int64_t>({0, 1, 2}));
  });
}

OneNode deformed(const OneNode::Shape &filter, const OneNode::Shape &offset) {
  return OneNode("DeformConv", 19).input({1, 2, 3, 3}).input(filter).input(offset);
}

TEST_F(SamplingTest, MovedTapsThatDoNotFit) {
  expectFails(deformed({1, 2, 2, 2}, {1, 4, 2, 2}),
              {"expected offsets [1, 8, 2, 2], found operand 2 (\"x2\", f32 [1, 4, 2, 2])"});
  expectFails(deformed({1, 1, 2, 2}, {1, 8, 2, 2}),
              {"expected channels for 1 groups and 1 groups of offsets, found"});
  expectFails(
      deformed({1, 2, 2, 2}, {1, 8, 2, 2}).set("kernel_shape", OneNode::Shape{3, 3}),
      {"expected kernel_shape [2, 2], as operand 1 (\"x1\", f32 [1, 2, 2, 2]) has, found [3, "
       "3]"});
  expectFails(deformed({1, 2, 2}, {1, 8, 2, 2}),
              {"expected pictures [N, C, d...] and a filter of the same rank, found"});
  expectFails(deformed({3, 2, 2, 2}, {1, 8, 2, 2}).input({2}), {"expected a bias [3], found"});
}

} // namespace
