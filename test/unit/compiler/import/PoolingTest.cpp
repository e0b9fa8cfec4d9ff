// Pools that ONNX's own cases hardly test: rounding up, divisors, positions, errors.
#include "dialects/Pch.h"

#include "OneNode.h"

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
