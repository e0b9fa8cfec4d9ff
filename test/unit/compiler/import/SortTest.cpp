// TopK and Det: what ONNX's cases leave out, and errors.
#include "dialects/Pch.h"

#include "OneNode.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

class SortTest : public OneNodeTest {};

TEST_F(SortTest, NansAreTheLargest) {
  std::vector<float> x{2, nan, -1, 2, nan};
  OneNode largest = OneNode("TopK", 11, 2).input({5}, x).ints({4});
  expect(largest, {4}, {1, 4, 0, 3}, 1);
  OneNode smallest = OneNode("TopK", 11, 2).input({5}, x).ints({5}).set("largest", int64_t(0));
  expect(smallest, {5}, {2, 0, 3, 1, 4}, 1);
  expect(OneNode("TopK", 11, 2).input({5}, {-0.0f, 3, 0, -0.0f, 3}).ints({5}), {5}, {1, 4, 0, 2, 3},
         1);
}

TEST_F(SortTest, AlongAnyAxisAndNone) {
  OneNode columns = OneNode("TopK", 11, 2).input({3, 2}, {1, 9, 5, 2, 3, 4});
  columns.ints({2}).set("axis", int64_t(0)).set("sorted", int64_t(0));
  expect(columns, {2, 2}, {5, 9, 3, 4});
  expect(columns, {2, 2}, {1, 0, 2, 2}, 1);
  expect(OneNode("TopK", 11, 2).input({3}).ints({0}), {0}, {});
  expect(OneNode("TopK", 8, 2).input({3}, {4, 6, 5}).set("k", int64_t(1)), {1}, {6});
}

TEST_F(SortTest, SaysWhatKMayBe) {
  expectFails(OneNode("TopK", 11, 2).input({2, 3}).ints({4}),
              {"expected k from 0 to 3, the size of dim 1 of operand 0 (\"x0\", f32 [2, 3]), found "
               "4"});
  expectFails(OneNode("TopK", 11, 2).input({3}).ints({1, 2}), {"expected one k, found operand 1"});
  expectFails(OneNode("TopK", 11, 2).input({20000000}).ints({1}),
              {"among 20000000 elements is not supported: expected at most 1048576"});
}

TEST_F(SortTest, DeterminantsExchangeRows) {
  expect(OneNode("Det", 11).input({2, 3, 3},
                                  {0, 2, 1, 4, 0, 0, 0, 0, 3, /**/ 1, 2, 3, 4, 5, 6, 7, 8, 9}),
         {2}, {-24, 0});
  expect(OneNode("Det", 11).input({1, 1}, {-3}), {}, {-3});
  expect(OneNode("Det", 11).input({2, 2}, {0, 0, 0, 5}), {}, {0});
  expectFails(OneNode("Det", 11).input({2, 3}),
              {"expected square matrices of 1 to 64 rows, found operand 0 (\"x0\", f32 [2, 3])"});
}

} // namespace
