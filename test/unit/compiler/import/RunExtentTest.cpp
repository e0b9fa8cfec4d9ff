// Nodes that take values whose extent only a run knows: their elements, extents, and errors.
#include "GraphText.h"

using namespace gradc;
using namespace gradc::graph_text;

namespace {

std::string ints(const char *name, std::initializer_list<int64_t> values) {
  std::string text = std::string("initializer { name: '") + name +
                     "' data_type: 7 dims: " + std::to_string(values.size());
  for (int64_t value : values)
    text += " int64_data: " + std::to_string(value);
  return text + " } ";
}

std::string integer(const char *name, int value) {
  return std::string("attribute { name: '") + name + "' type: 2 i: " + std::to_string(value) +
         " } ";
}

/// k = the positions in x [6] of numbers above 0, and v = these numbers: both are [K].
const std::string picked = tensor("input", "x", "6") + number("none", "f32", "0") +
                           number("three", "f32", "3") + ints("first", {0}) + ints("second", {1}) +
                           node("Greater", "x none", "above") + node("NonZero", "above", "p") +
                           node("Squeeze", "p first", "k") + node("Gather", "x k", "v");

/// Of which K is 4.
const Floats numbers{1, -1, 2, -3, 4, 5};

class RunExtentTest : public GraphTextTest {
protected:
  /// Expects `count` elements along `dim` of y in a run, and which ones these are.
  void expectElements(const std::string &nodes, int64_t dim, int64_t count, const Floats &expected,
                      const std::vector<Floats> &inputs = {numbers}) {
    OneNode one = model(picked + nodes + output);
    one.data = inputs;
    auto results = run(one);
    ASSERT_GT(results.size(), 1u);
    EXPECT_EQ(results[1].getInt(0), count);
    int64_t size = results[0].getShape()[size_t(dim)];
    int64_t inner = llvm::product_of(results[0].getShape().drop_front(size_t(dim) + 1));
    Floats found;
    for (int64_t i = 0; i < results[0].size(); ++i)
      if (i / inner % size < count)
        found.push_back(float(results[0].getFloat(i)));
    ASSERT_EQ(found.size(), expected.size());
    for (auto [i, value] : llvm::enumerate(expected))
      EXPECT_NEAR(found[i], value, 1e-5) << "element " << i;
  }

  void expectRefused(const std::string &nodes, llvm::StringRef what) {
    expectError(picked + nodes + output, what);
  }
};

// The gathered numbers behind v's are x[0], which is below three, too.
TEST_F(RunExtentTest, TrueElementsAmongThoseOfARun) {
  expectElements(node("Less", "v three", "low") + node("NonZero", "low", "y"), 1, 2, {0, 1});
  expectElements(tensor("input", "t", "6") + node("Less", "v three", "low") +
                     node("Compress", "t low", "y"),
                 0, 2, {7, 8}, {numbers, {7, 8, 9, 10, 11, 12}});
  expectElements(node("Greater", "v three", "high") + node("Compress", "v high", "y"), 0, 2,
                 {4, 5});
}

TEST_F(RunExtentTest, CompressKeepsOneExtent) {
  expectRefused(tensor("input", "keep", "2", 9) + node("Unsqueeze", "v first", "row") +
                    node("Concat", "row row", "rows", integer("axis", 0)) +
                    node("Compress", "rows keep", "y", integer("axis", 0)),
                "Compress cannot take operand 0 (\"rows\", f32 [2, 6]): only a run knows the "
                "extent of dim 1, and how many slices of another are kept");
}

/// n = [K], and m = the number of those below three.
const std::string lengths = node("Shape", "v", "n") + node("Less", "v three", "low") +
                            node("NonZero", "low", "q") + node("Squeeze", "q first", "few") +
                            node("Shape", "few", "m") + ints("two", {2});

TEST_F(RunExtentTest, SlicesEndWhereARunSays) {
  auto slice = [&](const char *operands) { return lengths + node("Slice", operands, "y"); };
  expectElements(slice("x first n first"), 0, 4, {1, -1, 2, -3});
  expectElements(slice("v first n first"), 0, 4, {1, 2, 4, 5});
  expectElements(slice("v first m first"), 0, 2, {1, 2});
  expectElements(slice("x first m"), 0, 2, {1, -1});
  expectElements(tensor("input", "t", "3") + slice("t first n first"), 0, 3, {7, 8, 9},
                 {numbers, {7, 8, 9}});
  expectRefused(slice("x second n first"),
                "Slice expected the first elements of dim 0 of operand 0 (\"x\", f32 [6]) alone, "
                "because only a run knows their end");
  expectRefused(node("Unsqueeze", "v second", "column") +
                    node("Concat", "column column", "pairs", integer("axis", 1)) +
                    slice("pairs first n second"),
                "Slice expected the first elements of dim 1 of operand 0 (\"pairs\", f32 [6, 2]) "
                "alone, because only a run knows their end");
}

TEST_F(RunExtentTest, ShapesOfARunExpand) {
  const std::string shape = lengths + node("Concat", "n two", "s", integer("axis", 0));
  expectElements(shape + node("Unsqueeze", "v second", "c") + node("Expand", "c s", "y"), 0, 4,
                 {1, 1, 2, 2, 4, 4, 5, 5});
  expectElements(tensor("input", "t", "2") + shape + node("Expand", "t s", "y"), 0, 4,
                 {7, 8, 7, 8, 7, 8, 7, 8}, {numbers, {7, 8}});
  expectElements(ints("rows", {2, 1}) + node("Expand", "v rows", "y"), 1, 4,
                 {1, 2, 4, 5, 1, 2, 4, 5});
  expectRefused(lengths + node("Expand", "x n", "y"),
                "Expand expected dim 0 of the result, whose extent only a run knows, to follow "
                "one of operand 0 (\"x\", f32 [6]) and operand 1 (\"n\", i64 [1]), found that "
                "both determine it");
  expectRefused(ints("six", {6}) + node("Expand", "v six", "y"), "found that both determine it");
  expectRefused(lengths + node("Expand", "v m", "y"), "found that both determine it");
}

// Of results y and z, only y has an extent, which is the third result.
TEST_F(RunExtentTest, OperandsKeepTheirExtents) {
  const std::string nodes = tensor("input", "x", "1") + ints("first", {0}) +
                            node("NonZero", "x", "p") + node("Squeeze", "p first", "k") +
                            node("Shape", "k", "n") + node("Identity", "x", "z") + output +
                            "output { name: 'z' } ";
  for (const std::string &last : {node("Expand", "x n", "y"), node("Slice", "x first n", "y")}) {
    OneNode one = model(nodes + last);
    one.data = {{3}};
    auto results = run(one);
    ASSERT_EQ(results.size(), 3u) << last;
    EXPECT_EQ(results[2].getInt(0), 1);
  }
}

} // namespace
