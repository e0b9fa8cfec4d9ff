// Codes of narrow types in the graphs of nodes, and gradients of casts to such types.
#include "dialects/grad/Grad.h"
#include "test/unit/compiler/import/GraphText.h"

using namespace gradc;
using namespace gradc::graph_text;

namespace {

class NarrowTest : public GraphTextTest {};

std::string cast(const char *from, const char *to, int type) {
  return node("Cast", from, to,
              "attribute { name: 'to' type: 2 i: " + std::to_string(type) + " } ");
}
constexpr int f32 = 1, float8 = 17, int4 = 22;
const std::string alongRows = "attribute { name: 'axis' type: 2 i: 0 } ";

/// Doubles x, as float8, `trips` times. y is the last value, z all values.
std::string doubling(const std::string &result, const char *trips = "3") {
  std::string body = "input { name: 'i' } input { name: 'go' } input { name: 'v' } " +
                     node("Identity", "go", "goes") + cast("v", "f", f32) +
                     node("Add", "f f", "d") + cast("d", "w", float8) + node("Identity", "w", "u") +
                     "output { name: 'goes' } output { name: '" + result +
                     "' } output { name: 'u' } ";
  return tensor("input", "x", "2") + number("n", "i64", trips) + cast("x", "q", float8) +
         node("Loop", "n - q", "last all", graph("body", body)) + cast("last", "y", f32) +
         cast("all", "z", f32) + output + "output { name: 'z' } ";
}

TEST_F(NarrowTest, LoopsCarryAndStackCodes) {
  OneNode one = model(doubling("w"), 21);
  one.data = {{1, 3}};
  expect(one, {2}, {8, 24});
  expect(one, {3, 2}, {2, 6, 4, 12, 8, 24}, 1);
  EXPECT_EQ(count<mlir::grad::ScanOp>(one), 1);
}

TEST_F(NarrowTest, LoopsKeepTheNarrowTypesTheyCarry) {
  expectError(doubling("d", "2000"), "carries float8e4m3fn [2] at first", 21);
}

TEST_F(NarrowTest, IterationsThatAreWrittenOutPassCodes) {
  std::string body = "input { name: 'i' } input { name: 'go' } input { name: 'v' } " +
                     node("Identity", "go", "goes") + node("Concat", "v q", "w", alongRows) +
                     "output { name: 'goes' } output { name: 'w' } output { name: 'q' } ";
  OneNode one = model(tensor("input", "x", "1") + number("n", "i64", "2") + cast("x", "q", float8) +
                          node("Loop", "n - q", "l s", graph("body", body)) + cast("l", "y", f32) +
                          cast("s", "z", f32) + output + "output { name: 'z' } ",
                      21);
  one.data = {{3}};
  expect(one, {3}, {3, 3, 3});
  expect(one, {2, 1}, {3, 3}, 1);
}

/// y = the running sums of x, of codes if `type` is narrow.
std::string summing(int type, const char *result, int64_t opset) {
  std::string body = "input { name: 's' } input { name: 'e' } " + cast("s", "a", f32) +
                     cast("e", "b", f32) + node("Add", "a b", "c") + cast("c", "t", type) +
                     node("Identity", "t", "u") + "output { name: '" + result +
                     "' } output { name: 'u' } ";
  bool hasRows = opset < 9;
  return tensor("input", "h", hasRows ? "1x2" : "2") +
         tensor("input", "x", hasRows ? "1x3x2" : "3x2") + cast("h", "hq", type) +
         cast("x", "xq", type) +
         node("Scan", hasRows ? "- hq xq" : "hq xq", "last all",
              "attribute { name: 'num_scan_inputs' type: 2 i: 1 } " + graph("body", body)) +
         cast("all", "y", f32) + output;
}

TEST_F(NarrowTest, ScansTakeCodes) {
  for (int type : {float8, int4}) {
    OneNode one = model(summing(type, "t", 21), 21);
    one.data = {{1, 2}, {1, 1, 1, 1, 1, 1}};
    expect(one, {3, 2}, {2, 3, 3, 4, 4, 5});
    one = model(summing(type, "t", 8), 8);
    one.data = {{1, 2}, {1, 1, 1, 1, 1, 1}};
    expect(one, {1, 3, 2}, {2, 3, 3, 4, 4, 5});
  }
}

TEST_F(NarrowTest, ScansKeepTheNarrowTypesTheyCarry) {
  expectError(summing(float8, "c", 21), "carries float8e4m3fn [2] at first, then f32 [2]", 21);
  expectError(summing(float8, "c", 8), "carries float8e4m3fn [2] at first, then f32 [2]", 8);
}

std::string choosing(int otherwise) {
  return tensor("input", "x", "2") + tensor("input", "c", "", 9) +
         node("If", "c", "q",
              graph("then_branch", cast("x", "t", float8) + "output { name: 't' } ") +
                  graph("else_branch", node("Neg", "x", "m") + cast("m", "e", otherwise) +
                                           "output { name: 'e' } ")) +
         cast("q", "y", f32) + output;
}

TEST_F(NarrowTest, BranchesReturnCodesOfOneType) {
  OneNode one = model(choosing(float8), 21);
  one.data = {{3, 4}, {0}};
  expect(one, {2}, {-3, -4});
  EXPECT_EQ(count<mlir::grad::IfOp>(one), 1);
  expectError(choosing(19), "found (float8e4m3fn [2]) and (float8e5m2 [2])", 21);
}

TEST_F(NarrowTest, ATripCountIsNoCode) {
  std::string body = "input { name: 'i' } input { name: 'go' } input { name: 'v' } " +
                     node("Identity", "go", "g") + node("Add", "v v", "w") +
                     "output { name: 'g' } output { name: 'w' } ";
  expectError(tensor("input", "x", "2") + "initializer { name: 'n' data_type: 22 int32_data: 3 } " +
                  node("Loop", "n - x", "y", graph("body", body)) + output,
              "expected one trip count, found operand 0 (initializer \"n\", int4 [])", 21);
}

/// y = x as float8, moved, as f32.
std::string rounding(int type, const std::string &moves) {
  return tensor("input", "x", "2x3") + cast("x", "q", type) + moves + cast("m", "y", f32) + output;
}

TEST_F(NarrowTest, CastsBackPassGradientsToTheFloats) {
  std::string flat = "initializer { name: 'flat' data_type: 7 dims: 1 int64_data: 6 } ";
  std::string moves = flat + node("Transpose", "q", "t") + node("Reshape", "t flat", "m");
  OneNode one = model(rounding(float8, moves), 21);
  EXPECT_EQ(count<mlir::grad::StraightThroughOp>(one), 1);
  one.data = {{1, 1.3, 2, 1000, 0.01, -0.3}};
  expect(one, {6}, {1, 448, 1.25, 0.009765625, 2, -0.3125});
  std::string same = node("Identity", "q", "m");
  EXPECT_EQ(count<mlir::grad::StraightThroughOp>(model(rounding(float8, same), 21)), 1);
  // Integers jump, and what is chosen by an index is not followed.
  EXPECT_EQ(count<mlir::grad::StraightThroughOp>(model(rounding(int4, same), 21)), 0);
  std::string joined = node("Concat", "q q", "m", alongRows);
  EXPECT_EQ(count<mlir::grad::StraightThroughOp>(model(rounding(float8, joined), 21)), 0);
}

} // namespace
