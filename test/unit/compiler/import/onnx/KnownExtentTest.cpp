// Extents of masks that are known at compile time, although a run may find others.
#include "test/unit/compiler/import/GraphText.h"

using namespace gradc;
using namespace gradc::graph_text;

namespace {

using KnownExtentTest = GraphTextTest;

// PyTorch writes the index k of x[k] as k expanded to the shape of k. All of w, which may train, is
// above 0, so this shape is known, and k has an extent nevertheless.
TEST_F(KnownExtentTest, ValuesExpandToTheirOwnKnownShape) {
  OneNode one = model("initializer { name: 'w' data_type: 1 dims: 3 float_data: [1, 2, 3] } "
                      "initializer { name: 'first' data_type: 7 dims: 1 int64_data: 0 } " +
                      tensor("input", "x", "3") + number("none", "f32", "0") +
                      node("Greater", "w none", "above") + node("NonZero", "above", "p") +
                      node("Squeeze", "p first", "k") + node("Shape", "k", "n") +
                      node("Expand", "k n", "i") + node("Gather", "x i", "y") + output);
  one.data = {{7, 8, 9}};
  expect(one, {3}, {7, 8, 9});
  auto results = run(one);
  ASSERT_GT(results.size(), 1u);
  EXPECT_EQ(results[1].getInt(0), 3);
}

} // namespace
