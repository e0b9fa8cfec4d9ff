// Loops that counters in their conditions bound.
#include "test/unit/compiler/import/GraphText.h"

using namespace gradc;
using namespace gradc::graph_text;

namespace {

class LoopCounterTest : public GraphTextTest {};

/// y = x doubled while "goes" holds, which `step` computes; it also makes the next counter l of k.
std::string doublingByCounter(const char *start, const std::string &step) {
  std::string body =
      "input { name: 'i' } input { name: 'go' } input { name: 'v' } input { name: 'k' } " +
      node("Add", "v v", "w") + node("Less", "w limit", "small") + step +
      "output { name: 'goes' } output { name: 'w' } output { name: 'l' } ";
  return tensor("input", "x", "") + number("limit", "f32", "100") + number("yes", "bool", "1") +
         number("start", "i64", start) + number("one", "i64", "1") + number("two", "i64", "2") +
         number("three", "i64", "3") + number("seven", "i64", "7") +
         node("Loop", "- yes x start", "y last", graph("body", body)) + output;
}

/// PyTorch writes `for` with `break` like this.
TEST_F(LoopCounterTest, ACounterBoundsALoopThatAConditionEnds) {
  struct Case {
    const char *start;
    std::string step;
    int64_t trips;
  };
  const std::string next = node("Add", "k one", "l");
  for (const auto &[start, step, trips] :
       {Case{"0", next + node("Less", "l three", "counted"), 3},
        {"0", next + node("LessOrEqual", "l three", "counted"), 4},
        {"0", next + node("Less", "k three", "counted"), 4},
        {"0", node("Add", "two k", "l") + node("Greater", "seven l", "counted"), 4},
        {"7", node("Sub", "k two", "l") + node("GreaterOrEqual", "l three", "counted"), 3},
        {"7", next + node("Less", "l three", "counted"), 1},
        {"0", node("Identity", "k", "l") + node("Less", "i two", "counted"), 3}}) {
    OneNode one = model(doublingByCounter(start, step + node("And", "counted small", "goes")));
    one.data = {{3}};
    expect(one, {}, {float(3 << trips)});
    EXPECT_EQ(run(one).size(), 1u) << "an output says whether the loop was cut";
    one.data = {{60}}; // ends after the first iteration
    expect(one, {}, {120});
    auto imported = import(one);
    ASSERT_TRUE(mlir::succeeded(imported));
    imported->module.get()->walk(
        [&](mlir::grad::ScanOp scan) { EXPECT_EQ(int64_t(scan.getTrips()), trips); });
  }
}

TEST_F(LoopCounterTest, OtherCountersBoundNoLoop) {
  const std::string next = node("Add", "k one", "l"), less = node("Less", "l three", "counted"),
                    both = node("And", "counted small", "goes");
  for (const std::string &step :
       {node("Sub", "k one", "l") + less + both, node("Mul", "k two", "l") + less + both,
        node("Identity", "k", "l") + less + both, node("Add", "k k", "l") + less + both,
        next + less + node("Or", "counted small", "goes"),
        next + node("Less", "one l", "more") + node("Or", "more small", "counted") + both}) {
    OneNode one = model(doublingByCounter("0", step));
    one.data = {{3}};
    expect(one, {}, {192});
    EXPECT_EQ(run(one).size(), 2u);
  }
}

} // namespace
