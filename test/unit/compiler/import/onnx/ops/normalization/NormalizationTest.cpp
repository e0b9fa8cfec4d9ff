// Normalizations that ONNX's own cases hardly test, and the errors for wrong ones.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

using Shape = OneNode::Shape;

class NormalizationTest : public OneNodeTest {
protected:
  static OneNode batchNorm(int64_t opset, int outputs = 1) {
    return OneNode("BatchNormalization", opset, outputs)
        .input({1, 2, 2})
        .floats({2}, {2, 3})
        .floats({2}, {1, 0})
        .floats({2}, {0, 1})
        .floats({2}, {3, 0})
        .set("epsilon", 1.0);
  }
};

TEST_F(NormalizationTest, UsesRunningStatisticsOutsideOfTraining) {
  for (int64_t opset : {7, 9, 14, 15})
    expect(batchNorm(opset), {1, 2, 2}, {1, 2, 3, 6});
  // An exporter in training mode changes nothing.
  expect(batchNorm(15).set("training_mode", int64_t(1)), {1, 2, 2}, {1, 2, 3, 6});
  OneNode unread = batchNorm(9);
  unread.node().add_output("");
  for (const char *name : {"unread_variance", "unread_saved_mean", "unread_saved_variance"})
    unread.node().add_output(name);
  expect(unread, {1, 2, 2}, {1, 2, 3, 6});
}

/// A graph that reads the new statistics gets them, with ONNX's biased variance.
TEST_F(NormalizationTest, GivesNewStatisticsToThoseWhoReadThem) {
  OneNode asked = batchNorm(15, 3).set("training_mode", int64_t(1)).set("momentum", 0.5);
  float y = 0.5f / std::sqrt(1.25f);
  expect(asked, {1, 2, 2}, {1 - 2 * y, 1 + 2 * y, -3 * y, 3 * y}, 0);
  expect(asked, {2}, {0.25, 1.75}, 1);
  expect(asked, {2}, {1.625, 0.125}, 2);
}

TEST_F(NormalizationTest, KnowsStatisticsFromParameters) {
  auto imported = import(batchNorm(15));
  ASSERT_TRUE(succeeded(imported)) << everything();
  std::vector<std::string> reasons;
  for (const Verdict &verdict : imported->verdicts)
    reasons.push_back(verdict.reason);
  EXPECT_EQ(reasons, (std::vector<std::string>{"a parameter of \"node\"", "a parameter of \"node\"",
                                               "a running statistic of \"node\"",
                                               "a running statistic of \"node\""}));
}

TEST_F(NormalizationTest, NormalizesGroups) {
  const float outer = 1.5f / std::sqrt(1.25f), inner = 0.5f / std::sqrt(1.25f);
  Floats expected{-outer,        -inner,        inner,         outer,
                  1 - 2 * outer, 1 - 2 * inner, 1 + 2 * inner, 1 + 2 * outer};
  auto group = [](int64_t opset) {
    return OneNode("GroupNormalization", opset)
        .input({1, 4, 2})
        .set("num_groups", int64_t(2))
        .set("epsilon", 0.0);
  };
  // Up to opset 20 one scale per group, from opset 21 on one per channel.
  expect(group(18).floats({2}, {1, 2}).floats({2}, {0, 1}), {1, 4, 2}, expected);
  expect(group(21).floats({4}, {1, 1, 2, 2}).floats({4}, {0, 0, 1, 1}), {1, 4, 2}, expected);
}

TEST_F(NormalizationTest, SumsAnEvenNumberOfChannels) {
  // alpha / size = 1: x / (1 + this^2 + next^2).
  expect(OneNode("LRN", 13)
             .input({1, 3, 1}, {1, 2, 3})
             .set("size", int64_t(2))
             .set("alpha", 2.0)
             .set("beta", 1.0),
         {1, 3, 1}, {1.0f / 6, 2.0f / 14, 3.0f / 10});
}

TEST_F(NormalizationTest, SaysAllThatIsWrong) {
  auto norm = [](const Shape &scale, const Shape &shift) {
    return OneNode("BatchNormalization", 15)
        .input({1, 2, 2})
        .input(scale)
        .input(shift)
        .input({2})
        .input({2});
  };
  expectFails(norm({3}, {2, 1}).set("epsilon", -1.0),
              {"expected one number a channel (dim 1 of operand 0 (\"x0\", f32 [1, 2, 2])), found "
               "operand 1 (\"x1\", f32 [3])",
               "found operand 2 (\"x2\", f32 [2, 1])", "expected an epsilon of at least 0, found"});
  expectFails(OneNode("LayerNormalization", 17).input({2, 3}).input({2}),
              {"expected a scale that broadcasts to operand 0 (\"x0\", f32 [2, 3]), found operand "
               "1 (\"x1\", f32 [2])"});
  expectFails(
      OneNode("LayerNormalization", 17).input({2, 3}).input({3}).set("stash_type", int64_t(7)),
      {"expected a float type as stash_type, found int64"});
  expectFails(OneNode("GroupNormalization", 21)
                  .input({1, 4, 2})
                  .input({2})
                  .input({4})
                  .set("num_groups", int64_t(2)),
              {"expected a scale of 4 elements, found operand 1 (\"x1\", f32 [2])"});
  expectFails(OneNode("GroupNormalization", 21)
                  .input({1, 4, 2})
                  .input({4})
                  .input({4})
                  .set("num_groups", int64_t(3)),
              {"expected num_groups that divides the channels (dim 1) of operand 0"});
  expectFails(OneNode("InstanceNormalization", 17).input({1, 2, 0}).input({2}).input({2}),
              {"expected elements to normalize, found operand 0"});
  expectFails(OneNode("LRN", 13).input({1, 2, 2}),
              {"expected size of at least 1 and below 2^20, found [0]"});
}

} // namespace
