// Unique of many elements, which are sorted, and of those that are not: ONNX's cases have few.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;
using namespace gradc::data_type;

namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Slices of some elements, one after the other.
struct Slices {
  int64_t count, width;
  Floats elements;

  float at(int64_t slice, int64_t i) const { return elements[size_t(slice * width + i)]; }
  bool isLess(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < width; ++i)
      if (!isSame(at(a, i), at(b, i)))
        return std::isnan(at(b, i)) || at(a, i) < at(b, i);
    return false;
  }
  bool isEqual(int64_t a, int64_t b) const { return !isLess(a, b) && !isLess(b, a); }

private:
  static bool isSame(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }
};

Slices makeSlices(int64_t count, int64_t width, int64_t values) {
  Slices slices{count, width, {}};
  for (int64_t i = 0; i < count * width; ++i)
    slices.elements.push_back(float(i * i % 211 % values));
  return slices;
}

class UniqueTest : public OneNodeTest {
protected:
  static OneNode node(OneNode::Shape shape, const Floats &values, bool isSorted,
                      int32_t type = FLOAT) {
    return OneNode("Unique", 11, 4).input(shape, values, type).set("sorted", int64_t(isSorted));
  }

  /// Expects the distinct slices, their first positions, the place of each slice, and their counts:
  /// zeros behind as many of the first positions and counts as there are.
  void expectDistinct(const OneNode &one, const Slices &x, bool isSorted, int64_t axis = 0) {
    SmallVector<int64_t> firsts, counts(size_t(x.count), 0);
    for (int64_t i = 0; i < x.count; ++i)
      if (llvm::none_of(firsts, [&](int64_t first) { return x.isEqual(first, i); }))
        firsts.push_back(i);
    if (isSorted)
      llvm::sort(firsts, [&](int64_t a, int64_t b) { return x.isLess(a, b); });
    auto results = run(one);
    ASSERT_EQ(results.size(), 4u + 3u) << "and three extents";
    for (unsigned extent : {4, 5, 6})
      EXPECT_EQ(results[extent].getInt(0), int64_t(firsts.size()));
    for (int64_t i = 0; i < x.count; ++i) {
      auto *found = llvm::find_if(firsts, [&](int64_t first) { return x.isEqual(first, i); });
      EXPECT_EQ(results[2].getInt(i), found - firsts.begin()) << "slice " << i;
      ++counts[size_t(found - firsts.begin())];
    }
    firsts.resize(size_t(x.count), 0);
    for (int64_t k = 0; k < x.count; ++k) {
      EXPECT_EQ(results[1].getInt(k), firsts[size_t(k)]) << "distinct slice " << k;
      EXPECT_EQ(results[3].getInt(k), counts[size_t(k)]) << "distinct slice " << k;
      for (int64_t i = 0; i < x.width; ++i) {
        float value = results[0].getFloat(axis == 1 ? i * x.count + k : k * x.width + i);
        float expected = x.at(firsts[size_t(k)], i);
        EXPECT_TRUE(value == expected || (std::isnan(value) && std::isnan(expected)))
            << "element " << i << " of distinct slice " << k << ": " << value;
      }
    }
  }
};

TEST_F(UniqueTest, ManyElementsAreSorted) {
  Slices x = makeSlices(200, 1, 37);
  for (size_t i : {3, 90, 91, 199})
    x.elements[i] = nan;
  for (size_t i : {0, 50, 120})
    x.elements[i] = i == 50 ? 0.0f : -0.0f;
  for (bool isSorted : {true, false}) {
    OneNode list = node({200}, x.elements, isSorted);
    EXPECT_EQ(count<ArgsortOp>(list), 1);
    expectDistinct(list, x, isSorted);
    expectDistinct(node({10, 20}, x.elements, isSorted), x, isSorted);
  }
}

TEST_F(UniqueTest, OfEachType) {
  for (int32_t type : {UINT8, INT32, INT64, FLOAT16, DOUBLE, UINT32, BFLOAT16})
    expectDistinct(node({80}, makeSlices(80, 1, 23).elements, true, type), makeSlices(80, 1, 23),
                   true);
  Slices flags = makeSlices(80, 1, 2);
  for (bool isSorted : {true, false})
    expectDistinct(node({80}, flags.elements, isSorted, BOOL), flags, isSorted);
}

TEST_F(UniqueTest, AllAreAlikeOrDifferent) {
  for (int64_t values : {int64_t(1), int64_t(300)})
    for (bool isSorted : {true, false}) {
      Slices x = makeSlices(100, 1, values);
      expectDistinct(node({100}, x.elements, isSorted), x, isSorted);
    }
}

/// By one element after the other, from the last.
TEST_F(UniqueTest, SlicesAreSortedByTheirElements) {
  Slices x = makeSlices(90, 3, 4);
  x.elements[31] = x.elements[70] = nan;
  Floats turned;
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t slice = 0; slice < 90; ++slice)
      turned.push_back(x.at(slice, i));
  for (bool isSorted : {true, false}) {
    OneNode rows = node({90, 3}, x.elements, isSorted).set("axis", int64_t(0));
    EXPECT_EQ(count<ArgsortOp>(rows), 3);
    expectDistinct(rows, x, isSorted);
    expectDistinct(node({3, 90}, turned, isSorted).set("axis", int64_t(-1)), x, isSorted, 1);
  }
}

TEST_F(UniqueTest, PairsOfOthersAreCompared) {
  Slices few = makeSlices(63, 1, 20), wide = makeSlices(64, 9, 2), widest = makeSlices(80, 1, 23);
  for (bool isSorted : {true, false}) {
    OneNode list = node({63}, few.elements, isSorted),
            rows = node({64, 9}, wide.elements, isSorted).set("axis", int64_t(0)),
            numbers = node({80}, widest.elements, isSorted, UINT64);
    for (const OneNode &one : {list, rows, numbers})
      EXPECT_EQ(count<ArgsortOp>(one), 0);
    expectDistinct(list, few, isSorted);
    expectDistinct(rows, wide, isSorted);
    expectDistinct(numbers, widest, isSorted);
  }
}

TEST_F(UniqueTest, SaysHowManyThereMayBe) {
  expectFails(OneNode("Unique", 11).input({1048577}),
              {"among 1048577 slices of 1 elements is not supported: expected at most 1048576 "
               "slices"});
  expectFails(OneNode("Unique", 11).input({131073}, {}, UINT64),
              {"among 131073 slices of 1 elements is not supported: expected at most 131072 "
               "slices, and 2^34 comparisons"});
  expectFails(OneNode("Unique", 11).input({0}), {"expected elements, found operand 0"});
}

} // namespace
