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

} // namespace
