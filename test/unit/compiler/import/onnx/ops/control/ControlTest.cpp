// If, Loop, and Scan: their results as regions and unrolled, and the errors for unsupported ones.
#include "test/unit/compiler/import/GraphText.h"

using namespace gradc;
using namespace gradc::graph_text;

namespace {

class ControlTest : public GraphTextTest {};

/// y = x doubled while `condition` says so; the loop's bound is `trips`, or there is none.
std::string doublingWhile(const std::string &condition, const char *trips,
                          const std::string &first = "yes") {
  std::string body = "input { name: 'i' } input { name: 'go' } input { name: 'v' } " +
                     node("Add", "v v", "w") + condition +
                     "output { name: 'goes' } output { name: 'w' } ";
  bool isBounded = *trips;
  return tensor("input", "x", "") + (isBounded ? number("n", "i64", trips) : "") +
         number("limit", "f32", "100") + number("yes", "bool", "1") +
         node("Loop", ((isBounded ? "n " : "- ") + first + " x").c_str(), "y",
              graph("body", body)) +
         output;
}

/// y = the first power of 2 times x that is at least 100.
std::string doubling(const char *trips) {
  return doublingWhile(node("Less", "w limit", "goes"), trips);
}

TEST_F(ControlTest, AConditionEndsALoop) {
  OneNode one = model(doubling("20"));
  one.data = {{3}};
  expect(one, {}, {192});
  EXPECT_EQ(count<mlir::grad::ScanOp>(one), 1);
  EXPECT_EQ(count<mlir::grad::IfOp>(one), 1);
  one.data = {{150}}; // runs once
  expect(one, {}, {300});
}

TEST_F(ControlTest, ABoundEndsALoopWhoseConditionHolds) {
  OneNode one = model(doubling("3"));
  one.data = {{3}};
  expect(one, {}, {24});
}

/// The run fails if the condition never ends the loop, which an output says.
TEST_F(ControlTest, AConditionAloneEndsALoop) {
  for (const char *trips : {"9223372036854775807", "2147483648", ""}) {
    OneNode one = model(doubling(trips));
    one.data = {{3}};
    expect(one, {}, {192});
    EXPECT_EQ(count<mlir::grad::ScanOp>(one), 1);
    auto results = run(one);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[1].getInt(0), 0);
    one = model(doublingWhile(node("Less", "w limit", "goes"), trips, /*first=*/"-"));
    one.data = {{3}};
    expect(one, {}, {192});
    EXPECT_EQ(count<mlir::grad::ScanOp>(one), 1);
  }
  OneNode bounded = model(doubling("2147483647"));
  bounded.data = {{3}};
  expect(bounded, {}, {192});
  EXPECT_EQ(run(bounded).size(), 1u);
  expectError(doublingWhile(node("Identity", "go", "goes"), ""),
              "expected a trip count of at most 2147483647, as its condition is always true");
}

/// y = x doubled as often as `bounded` says, which computes m from the input n and constants.
std::string doublingUpTo(const std::string &bounded, const char *condition = "-") {
  std::string body = "input { name: 'i' } input { name: 'go' } input { name: 'v' } " +
                     node("Identity", "go", "goes") + node("Add", "v v", "w") +
                     "output { name: 'goes' } output { name: 'w' } ";
  return tensor("input", "x", "") + tensor("input", "n", "", 7) + tensor("input", "go", "", 9) +
         number("zero", "i64", "0") + number("three", "i64", "3") + number("five", "i64", "5") +
         bounded +
         node("Loop", (std::string("m ") + condition + " x").c_str(), "y", graph("body", body)) +
         output;
}

TEST_F(ControlTest, ATripCountOfTheRunNeedsABound) {
  for (const std::string &bounded : {node("Min", "n three", "m"), node("Min", "five n three", "m"),
                                     node("Clip", "n zero three", "m"),
                                     node("Min", "n three", "k") + node("Max", "k zero", "m")}) {
    OneNode one = model(doublingUpTo(bounded));
    for (auto [trips, expected] : {std::pair(2, 20.f), {3, 40.f}, {7, 40.f}, {0, 5.f}, {-4, 5.f}}) {
      one.data = {{5}, {float(trips)}};
      expect(one, {}, {expected});
    }
  }
  OneNode conditional = model(doublingUpTo(node("Min", "n three", "m"), "go"));
  conditional.data = {{5}, {2}, {0}};
  expect(conditional, {}, {5});
  conditional.data = {{5}, {2}, {1}};
  expect(conditional, {}, {20});
  for (const std::string &unbounded :
       {node("Identity", "n", "m"), node("Max", "n three", "m"), node("Add", "n three", "m")})
    expectError(doublingUpTo(unbounded), "expected the trip count, or a bound of it, to be known");
}

/// A loop ends after 2^31 - 1 trips, and the run fails if it should not, which an output says.
TEST_F(ControlTest, ABoundMayExceedTheCounter) {
  for (const char *most : {"2147483648", "9223372036854775807"}) {
    OneNode one =
        model(doublingUpTo(number("most", "i64", most) + node("Min", "n most", "m"), "go"));
    one.data = {{5}, {2}, {1}};
    expect(one, {}, {20});
    EXPECT_EQ(count<mlir::grad::ScanOp>(one), 1);
    auto results = run(one);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[1].getInt(0), 0);
  }
  OneNode bounded =
      model(doublingUpTo(number("most", "i64", "2147483647") + node("Min", "n most", "m"), "go"));
  bounded.data = {{5}, {2}, {0}};
  EXPECT_EQ(run(bounded).size(), 1u);
}

TEST_F(ControlTest, ABoundIsNotSearchedAlongAllPaths) {
  std::string chain = node("Min", "n three", "a0") + node("Min", "n five", "b0");
  for (int i = 0; i < 64; ++i) {
    std::string last = std::to_string(i), next = std::to_string(i + 1);
    std::string both = "a" + last + " b" + last;
    chain += node("Max", both.c_str(), ("a" + next).c_str()) +
             node("Min", both.c_str(), ("b" + next).c_str());
  }
  expectError(doublingUpTo(chain + node("Identity", "a64", "m")),
              "expected the trip count, or a bound of it, to be known");
}

TEST_F(ControlTest, ATripCountFitsTheCounter) {
  expectError(
      tensor("input", "x", "") + number("m", "i64", "1000000000000") +
          node("Loop", "m - x", "y",
               graph("body", "input { name: 'i' } input { name: 'go' } input { name: 'v' } " +
                                 node("Identity", "go", "goes") + node("Add", "v v", "w") +
                                 "output { name: 'goes' } output { name: 'w' } ")) +
          output,
      "expected a trip count of at most 2147483647, as its condition is always true");
}

/// y = x `outer` * `inner` times: a loop in a loop counts how often, under the name `count`.
std::string counting(const char *outer, const char *inner, const std::string &count = "count",
                     const char *y = "y") {
  std::string head = "input { name: 'i' } input { name: 'go' } input { name: 'c' } " +
                     node("Identity", "go", "goes") + "output { name: 'goes' } ";
  std::string step = head + node("Add", "c one", "d") + "output { name: 'd' } ";
  std::string body = head + node("Loop", (count + ".n - c").c_str(), "e", graph("body", step)) +
                     "output { name: 'e' } ";
  return number((count + ".n").c_str(), "i64", inner) +
         number((count + ".m").c_str(), "i64", outer) +
         node("Loop", (count + ".m - zero").c_str(), count.c_str(), graph("body", body)) +
         node("Reshape", (count + " flat").c_str(), (count + ".shape").c_str()) +
         node("Expand", ("x " + count + ".shape").c_str(), y);
}
std::string countingInputs() {
  return tensor("input", "x", "1") + number("zero", "i64", "0") + number("one", "i64", "1") +
         "initializer { name: 'flat' data_type: 7 dims: 1 int64_data: 1 } ";
}

TEST_F(ControlTest, LoopsAreEvaluatedForShapes) {
  OneNode one = model(countingInputs() + counting("3", "4") + output);
  one.data = {{7}};
  expect(one, {12}, Floats(12, 7));
}

TEST_F(ControlTest, LoopsInLoopsAreEvaluatedUpToALimit) {
  expectError(countingInputs() + counting("1000", "1000") + output,
              "expected the shape to be known at compile time, but computing operand 1 "
              "(\"count.shape\", i64 [1]) exceeds the 262144 ops that an import evaluates, counted "
              "once for each iteration of loops");
  expectError(countingInputs() + counting("2000000000", "2000000000") + output,
              "exceeds the 262144 ops");
}

TEST_F(ControlTest, AllLoopsOfAnImportShareTheLimit) {
  std::string loops, outputs;
  for (int i = 0; i < 16; ++i) {
    std::string count = "count" + std::to_string(i), y = "y" + std::to_string(i);
    loops += counting("100", "100", count, y.c_str());
    outputs += "output { name: '" + y + "' } ";
  }
  expectError(countingInputs() + loops + outputs, "exceeds the 262144 ops");
}

TEST_F(ControlTest, ALoopIsEvaluatedOnce) {
  std::string readers, outputs;
  for (int i = 0; i < 16; ++i) {
    std::string y = "y" + std::to_string(i);
    readers += node("Expand", "x count.shape", y.c_str());
    outputs += "output { name: '" + y + "' } ";
  }
  OneNode one = model(countingInputs() + counting("100", "100") + readers + outputs);
  one.data = {{7}};
  expect(one, {10000}, Floats(10000, 7), 15);
}

/// Appends v + a to v in each step, which changes its shape, and stacks i or another value.
std::string growing(const char *carried, const char *stacked = "i") {
  std::string body = "input { name: 'i' } input { name: 'go' } input { name: 'v' } " +
                     node("Identity", "go", "goes") +
                     node("Concat", carried, "w", "attribute { name: 'axis' type: 2 i: 0 } ") +
                     node("Identity", stacked, "at") +
                     "output { name: 'goes' } output { name: 'w' } output { name: 'at' } ";
  return tensor("input", "x", "1") + tensor("input", "a", "1") + number("n", "i64", "3") +
         node("Loop", "n - x", "y z", graph("body", body)) + output + "output { name: 'z' } ";
}

TEST_F(ControlTest, ALoopThatChangesShapesIsWrittenOut) {
  OneNode one = model(growing("v a"));
  one.data = {{1}, {7}};
  expect(one, {4}, {1, 7, 7, 7});
  expect(one, {3}, {0, 1, 2}, 1);
  EXPECT_EQ(count<mlir::grad::ScanOp>(one), 0);
}

TEST_F(ControlTest, StackedTensorsHaveOneType) {
  expectError(growing("v a", "v"), "stacks f32 [1] at first, then f32 [2]");
}

std::string choosing(const char *then) {
  return tensor("input", "x", "2") + tensor("input", "c", "", 9) +
         node("If", "c", "y",
              graph("then_branch", std::string(then) + "output { name: 't' } ") +
                  graph("else_branch", node("Neg", "x", "e") + "output { name: 'e' } ")) +
         output;
}

TEST_F(ControlTest, ARunChoosesABranch) {
  OneNode one = model(choosing(node("Exp", "x", "t").c_str()));
  EXPECT_EQ(count<mlir::grad::IfOp>(one), 1);
  one.data = {{0, 0}, {1}};
  expect(one, {2}, {1, 1});
  one.data = {{3, 4}, {0}};
  expect(one, {2}, {-3, -4});
}

TEST_F(ControlTest, BranchesHaveResultsOfOneType) {
  expectError(
      choosing(node("ReduceSum", "x", "t").c_str()),
      "expected branches with results of the same types, as only a run knows which is taken, "
      "found (f32 [1]) and (f32 [2])");
}

/// y = the running sums of x along axis 1, backwards if `direction` is 1.
std::string summing(const char *direction, const char *body = nullptr) {
  std::string sum = "input { name: 's' } input { name: 'e' } " + node("Add", "s e", "t") +
                    node("Identity", "t", "u") + "output { name: 't' } output { name: 'u' } ";
  auto ints = [](const char *name, const char *value) {
    return std::string("attribute { name: '") + name + "' type: 7 ints: " + value + " } ";
  };
  return tensor("input", "h", "2") + tensor("input", "x", "2x3") +
         node("Scan", "h x", "last y",
              "attribute { name: 'num_scan_inputs' type: 2 i: 1 } " + ints("scan_input_axes", "1") +
                  ints("scan_output_axes", "-1") + ints("scan_input_directions", direction) +
                  graph("body", body ? body : sum)) +
         "output { name: 'last' } " + output;
}

TEST_F(ControlTest, AScanWalksAnyAxisInEitherDirection) {
  OneNode one = model(summing("0"));
  one.data = {{10, 20}, {1, 2, 3, 4, 5, 6}};
  expect(one, {2}, {16, 35});
  expect(one, {2, 3}, {11, 13, 16, 24, 29, 35}, 1);
  // Results are stacked forwards, whatever the direction of the operand.
  one = model(summing("1"));
  one.data = {{10, 20}, {1, 2, 3, 4, 5, 6}};
  expect(one, {2, 3}, {13, 15, 16, 26, 31, 35}, 1);
}

TEST_F(ControlTest, AScanKeepsTheTypesItCarries) {
  std::string body = "input { name: 's' } input { name: 'e' } " +
                     node("Concat", "s e", "t", "attribute { name: 'axis' type: 2 i: 0 } ") +
                     "output { name: 't' } output { name: 's' } ";
  expectError(summing("0", body.c_str()), "carries f32 [2] at first, then f32 [4]");
}

/// Scan of operator set 8: y = the running sums of each row's steps, from h on.
std::string summingRows(const char *lengths, const char *directions = "", const char *dims = "2x3",
                        const char *body = nullptr) {
  std::string sum = "input { name: 's' } input { name: 'e' } " + node("Add", "s e", "t") +
                    node("Identity", "t", "u") + "output { name: 't' } output { name: 'u' } ";
  std::string more = "attribute { name: 'num_scan_inputs' type: 2 i: 1 } ";
  if (*directions)
    more += std::string("attribute { name: 'directions' type: 7 ints: ") + directions + " } ";
  return tensor("input", "h", "2") + tensor("input", "x", dims) + tensor("input", "l", "2", 7) +
         node("Scan", (std::string(lengths) + " h x").c_str(), "last y",
              more + graph("body", body ? body : sum)) +
         "output { name: 'last' } " + output;
}

TEST_F(ControlTest, AScanOfSet8RunsOverEachRow) {
  OneNode one = model(summingRows("-"), 8);
  one.data = {{10, 20}, {1, 2, 3, 4, 5, 6}};
  expect(one, {2}, {16, 35});
  expect(one, {2, 3}, {11, 13, 16, 24, 29, 35}, 1);
  EXPECT_EQ(count<mlir::grad::ScanOp>(one), 2);
  // Results are stacked in the order of the iterations.
  one = model(summingRows("-", "1"), 8);
  one.data = {{10, 20}, {1, 2, 3, 4, 5, 6}};
  expect(one, {2}, {16, 35});
  expect(one, {2, 3}, {13, 15, 16, 26, 31, 35}, 1);
}

TEST_F(ControlTest, BehindItsLengthARowOfSet8Stays) {
  OneNode one = model(summingRows("l"), 8);
  one.data = {{10, 20}, {1, 2, 3, 4, 5, 6}, {2, 0}};
  expect(one, {2}, {13, 20});
  expect(one, {2, 3}, {11, 13, 0, 0, 0, 0}, 1);
}

TEST_F(ControlTest, AScanOfSet8SaysWhatItTakes) {
  auto fails = [&](const std::string &graph, llvm::StringRef what) { expectError(graph, what, 8); };
  fails(summingRows("l", "1"),
        "expected steps in order with lengths of rows, found directions [1]");
  fails(summingRows("-", "2"), "expected 1 directions of 0 or 1, found [2]");
  fails(summingRows("-", "", "3x3"),
        "expected operands of as many rows and steps, found operand 1");
  fails(summingRows("-", "", "2"), "expected rank 2 or more, found operand 2 (\"x\", f32 [2])");
  fails(summingRows("x"), "expected an integer as operand 0");
  fails(summingRows("-", "", "2x3", "input { name: 's' } output { name: 's' } "),
        "expected a graph of 2 inputs and 2 outputs, found 1 and 1");
  std::string grows = "input { name: 's' } input { name: 'e' } " +
                      node("Cast", "s", "t", "attribute { name: 'to' type: 2 i: 11 } ") +
                      "output { name: 't' } output { name: 'e' } ";
  fails(summingRows("-", "", "2x3", grows.c_str()), "carries f32 [] at first, then f64 []");
  std::string list = "input { name: 's' } input { name: 'e' } " +
                     node("SequenceConstruct", "s", "t") +
                     "output { name: 's' } output { name: 't' } ";
  fails(summingRows("-", "", "2x3", list.c_str()), "result 1 of its graph is a sequence");
}

TEST_F(ControlTest, GraphsHaveTheNodesInputsAndOutputs) {
  expectError(summing("0", "input { name: 's' } output { name: 's' } "),
              "expected a graph of 2 inputs and 2 outputs, found 1 and 1");
  expectError(summing("0", "input { name: 's' } input { name: 'e' } output { name: 's' } output { "
                           "type { } } "),
              "found an output without a name in a graph of a node");
  expectError(tensor("input", "x", "2") + number("n", "i64", "3") + node("Loop", "n - x", "y") +
                  output,
              "expected a graph as body");
  expectError(
      choosing(node("Exp", "nowhere", "t").c_str()),
      "input \"nowhere\" of If is neither a graph input, nor an initializer, nor computed by "
      "a node");
}

TEST_F(ControlTest, LoopsSayWhichOperandOrResultIsWrong) {
  std::string body = "input { name: 'i' } input { name: 'go' } input { name: 'v' } " +
                     node("Identity", "go", "g") + node("Add", "v v", "w") +
                     "output { name: 'g' } output { name: 'w' } ";
  std::string given = tensor("input", "x", "2") + number("n", "i64", "3");
  expectError(given + node("Loop", "n - - ", "y", graph("body", body)) + output,
              "expected a graph of 2 inputs and 2 outputs, found 3 and 2");
  expectError(given + node("Loop", "n x x", "y", graph("body", body)) + output,
              "expected one bool as condition, found f32 [2]");
  std::string two =
      "input { name: 'i' } input { name: 'go' } input { name: 'v' } input { name: 'u' } " +
      node("Identity", "go", "g") + node("Add", "v u", "w") +
      "output { name: 'g' } output { name: 'w' } ";
  expectError(given + node("Loop", "n - x x", "y", graph("body", two)) + output,
              "expected a result for each of 2 carried values, found 1 results");
  expectError(given + node("Loop", "n - - x", "y z", graph("body", two + "output { name: 'u' } ")) +
                  output,
              "operand 2 is missing");
  std::string notBool = "input { name: 'i' } input { name: 'go' } input { name: 'v' } " +
                        node("Add", "v v", "w") + "output { name: 'w' } output { name: 'w' } ";
  expectError(given + node("Loop", "n - x", "y", graph("body", notBool)) + output,
              "expected one bool as condition, found f32 [2]");
  expectError(summing("2"), "expected directions 0 or 1, found 2");
}

TEST_F(ControlTest, RandomNodesInLoopsAreRefused) {
  std::string body = "input { name: 's' } input { name: 'e' } " +
                     node("RandomNormalLike", "s", "t") +
                     "output { name: 't' } output { name: 's' } ";
  expectError(summing("0", body.c_str()), "is random; random nodes in loops are not supported");
  // Also inside a branch of the loop's graph.
  std::string branches =
      graph("then_branch", node("RandomNormalLike", "s", "t1") + "output { name: 't1' } ") +
      graph("else_branch", node("Identity", "s", "t2") + "output { name: 't2' } ");
  std::string nested = "input { name: 's' } input { name: 'e' } " + number("c", "bool", "1") +
                       node("If", "c", "t", branches) +
                       "output { name: 't' } output { name: 's' } ";
  expectError(summing("0", nested.c_str()), "\"RandomNormalLike\" is random");
}

TEST_F(ControlTest, ARegionReadsNoSequencesAroundIt) {
  std::string read = node("SequenceAt", "s zero", "r") + "output { name: 'r' } ";
  expectError(tensor("input", "x", "2") + tensor("input", "c", "", 9) + number("zero", "i64", "0") +
                  node("SequenceConstruct", "x x", "s") +
                  node("If", "c", "y", graph("then_branch", read) + graph("else_branch", read)) +
                  output,
              "reads the sequence \"s\" of a graph around its own");
}

/// Adds rows of a table of 4 until their sum is at least 100.
TEST_F(ControlTest, IndicesAreCheckedUntilALoopEnds) {
  std::string body = "input { name: 'i' } input { name: 'go' } input { name: 'v' } " +
                     node("Gather", "table i", "row") + node("Add", "v row", "w") +
                     node("Less", "w limit", "goes") +
                     "output { name: 'goes' } output { name: 'w' } ";
  OneNode one =
      model(tensor("input", "x", "") + tensor("input", "table", "4") + number("n", "i64", "1000") +
            number("limit", "f32", "100") + number("yes", "bool", "1") +
            node("Loop", "n yes x", "y", graph("body", body)) + output);
  // The largest index plus the number of rows, as the runtime checks it.
  for (auto [first, sum, largest] : {std::tuple(0.f, 110.f, 2 + 4), {90.f, 100.f, 0 + 4}}) {
    one.data = {{first}, {10, 40, 60, 80}};
    expect(one, {}, {sum});
    auto results = run(one);
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[1].getInt(0), largest);
  }
}

/// Looks up `i` in a table of 3 rows, in a loop of 2 steps inside a branch.
TEST_F(ControlTest, IndicesInRegionsAreChecked) {
  std::string lookup = "input { name: 's' } input { name: 'k' } " +
                       node("Gather", "table k", "row") + node("Add", "s row", "t") +
                       "output { name: 't' } ";
  std::string scan =
      node("Scan", "zero i", "u",
           "attribute { name: 'num_scan_inputs' type: 2 i: 1 } " + graph("body", lookup));
  OneNode one = model(
      tensor("input", "i", "2", 7) + tensor("input", "c", "", 9) + tensor("input", "table", "3") +
      number("zero", "f32", "0") +
      node("If", "c", "y",
           graph("then_branch", scan + "output { name: 'u' } ") +
               graph("else_branch", node("Identity", "zero", "v") + "output { name: 'v' } ")) +
      output);
  one.data = {{0, 2}, {1}, {10, 20, 40}};
  expect(one, {}, {50});
  // The largest index plus the number of rows, as the runtime checks it.
  auto results = run(one);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].getInt(0), 5);
  one.data = {{0, 9}, {0}, {10, 20, 40}}; // not taken
  results = run(one);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].getInt(0), 0);
}

} // namespace
