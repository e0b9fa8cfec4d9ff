// TopK and Det: what ONNX's cases leave out, and errors.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

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

/// Results have room for all elements, and their extents are k, as far as there are elements.
TEST_F(SortTest, ARunMayDetermineK) {
  constexpr int32_t int64 = 7;
  for (int64_t k : {2, 0, 9, -1}) {
    OneNode node = OneNode("TopK", 11, 2).input({4}, {1, 4, 2, 3}).input({1}, {float(k)}, int64);
    auto results = run(node);
    ASSERT_EQ(results.size(), 2u + 2u) << "and two extents";
    int64_t count = std::clamp<int64_t>(k, 0, 4);
    EXPECT_EQ(results[2].getInt(0), count);
    EXPECT_EQ(results[3].getInt(0), count);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(results[0].getFloat(i), 4 - double(i));
      EXPECT_EQ(results[1].getInt(i), (OneNode::Shape{1, 3, 2, 0}[size_t(i)]));
    }
  }
}

TEST_F(SortTest, SaysWhatKMayBe) {
  expectFails(OneNode("TopK", 11, 2).input({2, 3}).ints({4}),
              {"expected k from 0 to 3, the size of dim 1 of operand 0 (\"x0\", f32 [2, 3]), found "
               "4"});
  expectFails(OneNode("TopK", 11, 2).input({3}).ints({1, 2}), {"expected one k, found operand 1"});
  expectFails(OneNode("TopK", 11, 2).input({20000000}).ints({1}),
              {"among 20000000 elements is not supported: expected at most 1048576"});
}

/// Each row has one number other than 0 right of two columns that need elimination, and all results
/// are exact.
TEST_F(SortTest, LargeDeterminantsAreLoops) {
  for (int64_t size : {5, 6, 7, 9, 16}) {
    Floats values(size_t(size * size), 0);
    std::vector<int64_t> columns;
    double expected = 1;
    for (int64_t i = 0; i < size; ++i) {
      int64_t column = (i * (size % 2 ? 2 : size - 1) + 1) % size;
      float *row = &values[size_t(i * size)];
      row[0] = 1;
      row[1] = column == 0 ? 0 : 1;
      row[column] = i % 2 ? 2 : -4;
      expected *= row[column];
      for (int64_t before : columns)
        expected *= before > column ? -1 : 1;
      columns.push_back(column);
    }
    OneNode one = OneNode("Det", 11).input({size, size}, values);
    expect(one, {}, {float(expected)});
    EXPECT_EQ(count<ScanOp>(one), size < 9 ? 1 : 2) << size;
  }
  EXPECT_EQ(count<ScanOp>(OneNode("Det", 11).input({2, 4, 4})), 0);
  expect(OneNode("Det", 11).input({2, 7, 7}, Floats(2 * 7 * 7, 0)), {2}, {0, 0});
}

TEST_F(SortTest, DeterminantsExchangeRows) {
  expect(OneNode("Det", 11).input({2, 3, 3},
                                  {0, 2, 1, 4, 0, 0, 0, 0, 3, /**/ 1, 2, 3, 4, 5, 6, 7, 8, 9}),
         {2}, {-24, 0});
  expect(OneNode("Det", 11).input({1, 1}, {-3}), {}, {-3});
  expect(OneNode("Det", 11).input({2, 2}, {0, 0, 0, 5}), {}, {0});
  expectFails(OneNode("Det", 11).input({2, 3}),
              {"expected square matrices of 1 to 256 rows, found operand 0 (\"x0\", f32 [2, 3])"});
}

} // namespace
