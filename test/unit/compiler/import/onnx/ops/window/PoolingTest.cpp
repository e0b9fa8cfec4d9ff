// Pools that ONNX's own cases hardly test: rounding up, divisors, positions, errors.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

using Shape = OneNode::Shape;

class PoolingTest : public OneNodeTest {
protected:
  static OneNode pool(StringRef op, const Floats &x, int64_t kernel, int64_t stride,
                      const Shape &pads) {
    return OneNode(op, 19)
        .input({1, 1, int64_t(x.size())}, x)
        .set("kernel_shape", Shape{kernel})
        .set("strides", Shape{stride})
        .set("pads", pads);
  }
};

/// A pool over 2 channels of 11x14, computed from its definition.
struct Square {
  Shape kernel, strides{1, 1}, dilations{1, 1}, pads{0, 0, 0, 0};
  int64_t roundUp = 0, countPads = 0;
  static constexpr int64_t sizes[2] = {11, 14};

  OneNode node(StringRef op, int outputs = 1) const {
    OneNode one = OneNode(op, 19, outputs).input({1, 2, sizes[0], sizes[1]}, values());
    if (op == "AveragePool")
      one.set("count_include_pad", countPads);
    return one.set("kernel_shape", kernel)
        .set("strides", strides)
        .set("dilations", dilations)
        .set("pads", pads)
        .set("ceil_mode", roundUp);
  }
  int64_t windows(int d) const {
    int64_t room = sizes[d] + pads[d] + pads[d + 2] - (kernel[d] - 1) * dilations[d] - 1;
    int64_t count = (room + (roundUp ? strides[d] - 1 : 0)) / strides[d] + 1;
    return (count - 1) * strides[d] >= sizes[d] + pads[d] ? count - 1 : count;
  }
  Shape shape() const { return {1, 2, windows(0), windows(1)}; }
  Floats expected(bool average) const {
    Floats x = values(), result;
    for (int64_t c = 0; c < 2; ++c)
      for (int64_t i = 0; i < windows(0); ++i)
        for (int64_t j = 0; j < windows(1); ++j) {
          float sum = 0, max = -std::numeric_limits<float>::infinity();
          int64_t count = 0;
          for (int64_t tap = 0; tap < kernel[0] * kernel[1]; ++tap) {
            int64_t row = i * strides[0] + tap / kernel[1] * dilations[0] - pads[0];
            int64_t column = j * strides[1] + tap % kernel[1] * dilations[1] - pads[1];
            bool isInside = row >= 0 && row < sizes[0] && column >= 0 && column < sizes[1];
            bool isPad = countPads && row < sizes[0] + pads[2] && column < sizes[1] + pads[3];
            count += isInside || isPad;
            if (!isInside)
              continue;
            float value = x[(c * sizes[0] + row) * sizes[1] + column];
            sum += value;
            max = std::max(max, value);
          }
          result.push_back(average ? sum / float(count) : max);
        }
    return result;
  }

private:
  static Floats values() {
    Floats x(2 * sizes[0] * sizes[1]);
    for (auto [i, value] : llvm::enumerate(x))
      value = float(i * 37 % 101) - 60;
    return x;
  }
};

TEST_F(PoolingTest, LargeWindowsAreComputedDimByDim) {
  for (Square square :
       {Square{{5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}}, Square{{9, 8}, {1, 1}, {1, 1}, {4, 4, 4, 4}},
        Square{{9, 5}, {1, 1}, {1, 1}, {4, 2, 4, 2}},
        Square{{8, 11}, {1, 2}, {1, 1}, {7, 3, 2, 10}},
        Square{{5, 4}, {1, 1}, {2, 3}, {1, 5, 6, 0}},
        Square{{6, 7}, {2, 3}, {1, 1}, {3, 3, 3, 3}, /*roundUp=*/1}})
    for (int64_t countPads : {0, 1}) {
      square.countPads = countPads;
      expect(square.node("MaxPool"), square.shape(), square.expected(/*average=*/false));
      expect(square.node("AveragePool"), square.shape(), square.expected(/*average=*/true));
      EXPECT_EQ(count<WindowMaxOp>(square.node("MaxPool")), 0);
      EXPECT_EQ(count<WindowSumOp>(square.node("AveragePool")), 0);
    }
}

TEST_F(PoolingTest, OtherWindowsAreComputedTapByTap) {
  for (Square square :
       {Square{{3, 3}}, Square{{5, 5}, {5, 5}}, Square{{5, 5}, {3, 3}, {1, 1}, {2, 2, 2, 2}}}) {
    expect(square.node("MaxPool"), square.shape(), square.expected(/*average=*/false));
    EXPECT_EQ(count<WindowMaxOp>(square.node("MaxPool")), 1);
    EXPECT_EQ(count<WindowSumOp>(square.node("AveragePool")), 1);
  }
  // The position of the maximum needs the window's taps.
  EXPECT_EQ(count<WindowMaxOp>(Square{{9, 9}, {1, 1}, {1, 1}, {4, 4, 4, 4}}.node("MaxPool", 2)), 1);
}

TEST_F(PoolingTest, LargeWindowsWithGradientsAreOneForEachDim) {
  OneNode large = Square{{9, 7}, {1, 2}, {1, 1}, {4, 3, 4, 3}}.node("MaxPool");
  EXPECT_EQ(count<WindowMaxOp>(differentiated(large)), 2);
  large.node().set_op_type("AveragePool");
  EXPECT_EQ(count<WindowSumOp>(differentiated(large)), 2);
  large.node().set_op_type("LpPool");
  EXPECT_EQ(count<WindowSumOp>(differentiated(large)), 2);
  EXPECT_EQ(count<WindowSumOp>(large), 1);
  // Rows between windows that are apart would be summed for nothing.
  OneNode apart = Square{{5, 5}, {5, 5}}.node("MaxPool");
  EXPECT_EQ(count<WindowMaxOp>(differentiated(apart)), 1);
}

TEST_F(PoolingTest, LongWindowsTakeTwoSteps) {
  auto longest = [](const Floats &x, int32_t type) {
    return OneNode("MaxPool", 12)
        .input({1, 1, int64_t(x.size())}, x, type)
        .set("kernel_shape", Shape{31})
        .set("pads", Shape{0, 30});
  };
  // 4 make maxima of 5 neighbours, 5 of 6 of those, and the last takes the 31st element.
  EXPECT_EQ(count<MaxOp>(longest(Floats(100, 0.0f), 1)), 10);
  Floats falling(100);
  std::iota(falling.rbegin(), falling.rend(), -120.0f);
  for (int32_t type : {/*f32*/ 1, /*int8*/ 3, /*int64*/ 7, /*f16*/ 10})
    expect(longest(falling, type), {1, 1, 100}, falling);
  expect(longest(Floats(100, 3.0f), /*uint8*/ 2), {1, 1, 100}, Floats(100, 3.0f));
  Floats withNaN(100, 1.0f);
  withNaN[40] = NAN;
  auto results = run(longest(withNaN, 1));
  ASSERT_EQ(results.size(), 1u);
  for (int64_t i = 0; i < 100; ++i)
    EXPECT_EQ(std::isnan(results[0].getFloat(i)), i >= 10 && i <= 40) << "window " << i;
}

TEST_F(PoolingTest, RoundsUpWhereAWindowBeginsInside) {
  OneNode five = pool("MaxPool", {0, 1, 2, 3, 4}, 2, 2, {0, 0});
  expect(five, {1, 1, 2}, {1, 3});
  expect(five.set("ceil_mode", int64_t(1)), {1, 1, 3}, {1, 3, 4});
  // A second window would begin at 2, inside the padding.
  expect(pool("MaxPool", {5, 6}, 2, 3, {1, 1}).set("ceil_mode", int64_t(1)), {1, 1, 1}, {5});
  // No elements remain, so no window is added.
  expect(pool("MaxPool", {0, 1, 2, 3}, 2, 2, {0, 0}).set("ceil_mode", int64_t(1)), {1, 1, 2},
         {1, 3});
}

TEST_F(PoolingTest, DividesByWhatCounts) {
  OneNode four = pool("AveragePool", {1, 2, 3, 4}, 3, 2, {1, 1}).set("ceil_mode", int64_t(1));
  expect(four, {1, 1, 3}, {1.5, 3, 4});
  // The last window covers one element, one element of padding, and one past both.
  expect(four.set("count_include_pad", int64_t(1)), {1, 1, 3}, {1, 3, 2});
}

TEST_F(PoolingTest, DividesByTheTapsOfDilatedWindows) {
  OneNode five = pool("AveragePool", {0, 1, 2, 3, 4}, 2, 1, {1, 1}).set("dilations", Shape{2});
  expect(five, {1, 1, 5}, {1, 1, 2, 3, 3});
  expect(five.set("count_include_pad", int64_t(1)), {1, 1, 5}, {0.5, 1, 2, 3, 1.5});
}

TEST_F(PoolingTest, SaysWhereTheMaximumStands) {
  auto max = [](const Shape &shape, const Floats &x, int64_t order) {
    return OneNode("MaxPool", 12, 2)
        .input(shape, x)
        .set("kernel_shape", Shape(shape.begin() + 2, shape.end()))
        .set("storage_order", order);
  };
  Floats images{0, 5, 1, 2, 9, 1, 1, 1, 0, 0, 1, 0, 1, 2, 3, 4};
  expect(max({2, 2, 2, 2}, images, 0), {2, 2, 1, 1}, {1, 4, 10, 15}, 1);
  expect(max({2, 2, 2, 2}, images, 1), {2, 2, 1, 1}, {2, 4, 9, 15}, 1);
  Floats volume(12, 0.0f);
  volume[10] = 1; // at (1, 2, 0) of [2, 3, 2]
  expect(max({1, 1, 2, 3, 2}, volume, 0), {1, 1, 1, 1, 1}, {10}, 1);
  expect(max({1, 1, 2, 3, 2}, volume, 1), {1, 1, 1, 1, 1}, {5}, 1);
  OneNode dilated = OneNode("MaxPool", 12, 2)
                        .input({1, 1, 5}, {0, 1, 2, 9, 4})
                        .set("kernel_shape", Shape{2})
                        .set("dilations", Shape{2})
                        .set("pads", Shape{1, 0});
  expect(dilated, {1, 1, 4}, {1, 2, 9, 4});
  expect(dilated, {1, 1, 4}, {1, 2, 3, 4}, 1);
}

TEST_F(PoolingTest, TakesTheMaximumOfIntegers) {
  expect(OneNode("MaxPool", 12)
             .input({1, 1, 2}, {-5, -3}, /*int8*/ 3)
             .set("kernel_shape", Shape{2})
             .set("pads", Shape{1, 1}),
         {1, 1, 3}, {-5, -3, -3});
}

TEST_F(PoolingTest, TakesNorms) {
  auto norm = [](int64_t p) {
    return OneNode("LpPool", 18)
        .input({1, 1, 3}, {-1, 2, -3})
        .set("kernel_shape", Shape{2})
        .set("p", p);
  };
  expect(norm(1), {1, 1, 2}, {3, 5});
  expect(norm(2), {1, 1, 2}, {std::sqrt(5.0f), std::sqrt(13.0f)});
  expect(norm(3), {1, 1, 2}, {std::cbrt(9.0f), std::cbrt(35.0f)});
  expect(OneNode("GlobalLpPool", 17).input({1, 1, 2}, {3, -4}), {1, 1, 1}, {5});
}

TEST_F(PoolingTest, SaysAllThatIsWrong) {
  expectFails(OneNode("MaxPool", 12).input({1, 1, 5}), {"MaxPool has no kernel_shape"});
  expectFails(OneNode("MaxPool", 12).input({1, 5}).set("kernel_shape", Shape{2}),
              {"expected rank 3 or more, found operand 0"});
  expectFails(OneNode("MaxPool", 12).input({1, 1, 5}).set("kernel_shape", Shape{2, 2}),
              {"expected 1 numbers as kernel_shape, found 2"});
  OneNode square = OneNode("AveragePool", 19).input({1, 1, 5, 5});
  expectFails(OneNode(square).set("kernel_shape", Shape{2, 3}).set("pads", Shape{2, 0, 0, 3}),
              {"expected pads smaller than the window, found 2 and 0 for a window of 2 in dim 2",
               "expected pads smaller than the window, found 0 and 3 for a window of 3 in dim 3"});
  expectFails(OneNode(square).set("kernel_shape", Shape{6, 6}),
              {"expected a window of 6 to fit dim 2", "expected a window of 6 to fit dim 3"});
  expectFails(OneNode(square).set("kernel_shape", Shape{1 << 16, 1 << 16}),
              {"expected a window of less than 2^31 elements, found [65536, 65536]"});
  expectFails(
      OneNode("LpPool", 18).input({1, 1, 5}).set("kernel_shape", Shape{2}).set("p", int64_t(0)),
      {"expected p of at least 1, found 0"});
  expectFails(OneNode("GlobalAveragePool", 13).input({1, 1, 0}),
              {"expected rank 3 or more and elements to pool, found operand 0"});
}

} // namespace
