// Ops that the importer composes from others and that ONNX's own cases hardly test, and the errors
// for wrong ones.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

using Shape = OneNode::Shape;
constexpr float inf = std::numeric_limits<float>::infinity();

class CompositionTest : public OneNodeTest {};

TEST_F(CompositionTest, HyperbolicFunctionsReachTheEndsOfTheRange) {
  auto of = [](const char *op, const Floats &x) {
    return OneNode(op, 22).input({int64_t(x.size())}, x);
  };
  expect(of("Asinh", {0, -0.5, 2, -1e10, 1e20}), {5},
         {0, -0.4812118, 1.4436355, -23.7189981, 46.7448491});
  expect(of("Acosh", {1, 2, 1e20}), {3}, {0, 1.3169579, 46.7448491});
  expect(of("Sinh", {1e-6, -1, 100}), {3}, {1e-6, -1.1752012, inf});
  for (const char *op : {"Sinh", "Cosh"}) { // e^89 overflows, half of it does not
    auto large = run(of(op, {89, 0}));
    ASSERT_EQ(large.size(), 1u);
    EXPECT_NEAR(large[0].getFloat(0) / 2.2448064e38, 1, 1e-5) << op;
    EXPECT_EQ(large[0].getFloat(1), op[0] == 'S' ? 0 : 1);
  }
  expect(of("Cosh", {1e-6, -1, 100}), {3}, {1, 1.5430806, inf});
  expect(of("Asin", {-1, 1, 0.5}), {3}, {-1.5707963, 1.5707963, 0.5235988});
  expect(of("Acos", {-1, 1, 0.5}), {3}, {3.1415927, 0, 1.0471976});
  expect(of("Atan", {-inf, inf, 1}), {3}, {-1.5707963, 1.5707963, 0.7853982});
}

/// Up to opset 10, limits are attributes, whose defaults are the largest f32 numbers.
TEST_F(CompositionTest, ClipLimitsByDefaultToTheRangeOfF32) {
  constexpr float largest = std::numeric_limits<float>::max();
  auto of = [](int64_t opset, int32_t type = 1) {
    return OneNode("Clip", opset).input({4}, {-inf, -5, 5, inf}, type);
  };
  for (int64_t opset : {6, 10}) {
    expect(of(opset), {4}, {-largest, -5, 5, largest});
    expect(of(opset).set("min", 1.0), {4}, {1, 1, 5, largest});
    expect(of(opset).set("max", 1.0), {4}, {-largest, -5, 1, 1});
    expect(of(opset).set("min", -1.0).set("max", 1.0), {4}, {-1, -1, 1, 1});
  }
  expect(of(6, DOUBLE), {4}, {-largest, -5, 5, largest});
  expect(of(6, FLOAT16), {4}, {-inf, -5, 5, inf}); // which has no such numbers
  expect(of(11), {4}, {-inf, -5, 5, inf});
}

TEST_F(CompositionTest, ShiftsAndBitsOfSignedNumbers) {
  auto of = [](const char *op, const Floats &a, const Floats &b) {
    return OneNode(op, 28).input({int64_t(a.size())}, a, INT8).input({int64_t(b.size())}, b, INT8);
  };
  expect(of("BitShift", {1, -128, -1, 3}, {7, 1, 8, -1}).set("direction", "LEFT"), {4},
         {-128, 0, 0, 0});
  expect(of("BitShift", {-128, -5, 5, -1}, {7, 100, 100, -3}).set("direction", "RIGHT"), {4},
         {-1, -1, 0, -1});
  expect(of("BitwiseAnd", {-1, 6}, {5, 3}), {2}, {5, 2});
  expect(of("BitwiseXor", {-1, 6}, {5, 3}), {2}, {-6, 5});
  expect(OneNode("BitwiseNot", 18).input({2}, {0, 5}, INT8), {2}, {-1, -6});
  expectFails(of("BitShift", {1}, {1}), {"expected direction \"LEFT\" or \"RIGHT\", found \"\""});
  expectFails(OneNode("BitwiseAnd", 18).input({1}).input({1}),
              {"expected an integer as operand 0 (\"x0\", f32 [1])"});
}

TEST_F(CompositionTest, PowersOf64BitsAreExact) {
  auto of = [](const Floats &a, const Floats &b) {
    return OneNode("Pow", 15)
        .input({int64_t(a.size())}, a, INT64)
        .input({int64_t(b.size())}, b, INT64);
  };
  OneNode large = of({3, -1, 2, 0, 1, -1, 2, 0}, {39, 101, 62, 0, -5, -3, -1, 100});
  auto results = run(large);
  ASSERT_EQ(results.size(), 1u);
  const int64_t expected[] = {4052555153018976267, -1, 1LL << 62, 1, 1, -1, 0, 0};
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(results[0].getInt(i), expected[i]) << i;
}

TEST_F(CompositionTest, IntegersAbove53BitsAreExact) {
  constexpr int64_t large = (int64_t(1) << 60) + 1, highest = INT64_MAX;
  auto pad = run(OneNode("Pad", 13).input({2}, {1, -2}, INT64).ints({1, -1}).ints({large}));
  ASSERT_EQ(pad.size(), 1u);
  ASSERT_EQ(pad[0].size(), 2);
  EXPECT_EQ(pad[0].getInt(0), large);
  EXPECT_EQ(pad[0].getInt(1), 1);
  auto range = run(OneNode("Range", 11).ints({large}).ints({large + 3}).ints({1}));
  ASSERT_EQ(range.size(), 1u);
  ASSERT_EQ(range[0].size(), 3);
  EXPECT_EQ(range[0].getInt(2), large + 2);
  auto down = run(OneNode("Range", 11).ints({highest}).ints({-highest}).ints({-highest}));
  ASSERT_EQ(down.size(), 1u);
  ASSERT_EQ(down[0].size(), 2);
  EXPECT_EQ(down[0].getInt(1), 0);
  expect(OneNode("Range", 11).ints({3}).ints({3}).ints({1}), {0}, {});
  expectFails(OneNode("Range", 11).ints({3}).ints({1}).ints({0}),
              {"expected a range of less than 2^24 elements, found a delta of 0"});
}

TEST_F(CompositionTest, ArgMinOfUnsignedNumbersFindsZero) {
  expect(OneNode("ArgMin", 13).input({3}, {5, 0, 3}, UINT8), {1}, {1});
  expect(OneNode("ArgMin", 13).input({3}, {0, -128, 127}, INT8), {1}, {1});
}

TEST_F(CompositionTest, CeluHasNegativeAlphas) {
  expect(OneNode("Celu", 12).input({3}, {-2, 0, 1}).set("alpha", -2.0), {3}, {-3.4365637, 0, 1});
}

TEST_F(CompositionTest, SliceBackwardsStartsAtAnElement) {
  auto of = [](int64_t size) {
    return OneNode("Slice", 13).input({size}).ints({-6}).ints({-1000}).ints({0}).ints({-1});
  };
  expect(of(5), {1}, {0});
  expect(of(0), {0}, {});
}

TEST_F(CompositionTest, GemmOfIntegersHasWholeFactors) {
  OneNode one = OneNode("Gemm", 13).input({1, 2}, {1, 2}, INT64).input({2, 1}, {3, 4}, INT64);
  expect(OneNode(one).set("alpha", -2.0), {1, 1}, {-22});
  expectFails(one.set("alpha", 0.5),
              {"expected whole numbers as alpha and beta of integers, found 0.5 and 1"});
}

TEST_F(CompositionTest, SoftmaxOfNothingIsNothing) {
  for (const char *op : {"Softmax", "LogSoftmax"})
    for (int64_t opset : {11, 13})
      expect(OneNode(op, opset).input({2, 0}), {2, 0}, {});
}

TEST_F(CompositionTest, RemaindersOfFloatsHaveTheSignOfTheDivisor) {
  auto of = [](int64_t opset) {
    return OneNode("Mod", opset).input({5}, {-5, 5, -4, 1, -1}).input({5}, {3, -3, 2, -inf, inf});
  };
  expect(of(28), {5}, {1, -1, 0, -inf, inf});
  expectFails(of(27), {"expected fmod = 1 with floats up to opset 27, found 0"});
}

/// Opset 6 only broadcasts to operand 0, from an axis on.
TEST_F(CompositionTest, OldModelsBroadcastByAxis) {
  auto of = [](const Shape &b) { return OneNode("Add", 6).input({2, 3, 1}).input(b); };
  expect(of({3}).set("broadcast", int64_t(1)).set("axis", int64_t(1)), {2, 3, 1},
         {0, 2, 4, 3, 5, 7});
  expect(of({1}).set("broadcast", int64_t(1)), {2, 3, 1}, {0, 1, 2, 3, 4, 5});
  expectFails(of({3}).set("axis", int64_t(1)),
              {"expected operand 1 to match operand 0 from axis 1 on, with broadcast = 1"});
  expectFails(of({2}).set("axis", int64_t(1)).set("broadcast", int64_t(1)),
              {"expected operand 1 to match operand 0 from axis 1 on"});
  expect(OneNode("PRelu", 6).input({1, 2, 1}, {-1, -1}).floats({2}, {2, 3}), {1, 2, 1}, {-2, -3});
}

TEST_F(CompositionTest, AccumulatesFromEitherEnd) {
  auto of = [](const char *op) { return OneNode(op, 26).input({5}, {1, 2, 3, 4, 5}).ints({-1}); };
  expect(of("CumSum"), {5}, {1, 3, 6, 10, 15});
  expect(of("CumSum").set("reverse", int64_t(1)).set("exclusive", int64_t(1)), {5},
         {14, 12, 9, 5, 0});
  expect(of("CumProd").set("exclusive", int64_t(1)), {5}, {1, 1, 2, 6, 24});
  expect(OneNode("CumSum", 14).input({0}).ints({0}).set("exclusive", int64_t(1)), {0}, {});
  expectFails(OneNode("CumSum", 14).input({2}).ints({1}),
              {"expected an axis from -1 to 0, found 1"});
  expectFails(OneNode("CumSum", 14).input({2}).ints({0, 0}),
              {"expected one axis, found operand 1"});
}

TEST_F(CompositionTest, ReducesBoolsAndNothing) {
  expect(OneNode("ReduceMax", 20).input({2, 2}, {0, 1, 0, 0}, BOOL).ints({1}), {2, 1}, {1, 0});
  expect(OneNode("ReduceMin", 20).input({2, 0}).ints({1}), {2, 1}, {inf, inf});
  expect(OneNode("ReduceMax", 20).input({0}, {}, INT8), {1}, {-128});
  expect(OneNode("ReduceLogSumExp", 18).input({0, 1}).ints({0}), {1, 1}, {-inf});
  expectFails(OneNode("ReduceMean", 18).input({0}), {"expected elements along dim 0 of operand 0"});
}

TEST_F(CompositionTest, ConvolvesBehindWhatCameBefore) {
  auto of = [](const Floats &weight) {
    return OneNode("CausalConvWithState", 27, 2)
        .input({1, 1, 3}, {1, 2, 3})
        .floats({1, 1, int64_t(weight.size())}, weight);
  };
  expect(of({1, 10}), {1, 1, 3}, {10, 21, 32});
  OneNode behind = of({100, 1, 10}).floats({1}, {0.5}).input({1, 1, 2}, {7, 9});
  expect(behind, {1, 1, 3}, {719.5, 921.5, 132.5});
  expect(behind, {1, 1, 2}, {2, 3}, 1);
  expectFails(of({1, 10}).nothing().input({1, 1, 2}),
              {"expected a past state [1, 1, 1], found operand 3"});
  expectFails(of({}), {"expected [N, C, L] and a weight [C, 1, K] with elements"});
  expectFails(of({1}).set("activation", "relu"), {"expected activation \"none\", \"silu\" or"});
}

TEST_F(CompositionTest, SequencesAreKnown) {
  // A node after SplitToSequence that takes a sequence and a position.
  auto behind = [](const char *op, std::optional<int64_t> position = {}) {
    OneNode one = OneNode("SplitToSequence", 17).input({3, 1}, {5, 6, 7});
    one.node().set_output(0, "parts");
    GraphBuilder builder(*one.model.mutable_graph());
    std::vector<std::string> inputs = {"parts"};
    if (position) {
      inputs.push_back("position");
      builder.addInitializer("position",
                             tensorOf(INT64, {}, rawData<int64_t>(ArrayRef(*position))));
    }
    builder.add(op, inputs, {"y0"});
    return one;
  };
  expect(behind("SequenceAt", -1), {1, 1}, {7});
  expect(behind("SequenceLength"), {}, {3});
  expect(behind("OptionalHasElement"), {}, {1});
  expectFails(behind("SequenceAt", 3), {"expected a position from -3 to 2, found [3]"});
  expectFails(behind("Relu"), {"expected a tensor as operand 0, found the sequence \"parts\""});
  expect(behind("SequenceErase"), {1, 1}, {6}, 1); // the second of two outputs
  expectFails(OneNode("SequenceLength", 17).input({2}),
              {"expected a sequence as operand 0, found a tensor"});
  expectFails(OneNode("SplitToSequence", 17).input({3}).ints({2, 2}),
              {"expected parts that add up to 3, found [2, 2]"});
  expectFails(OneNode("SplitToSequence", 17).input({2000}),
              {"expected at most 1024 parts, found 2000"});
}

TEST_F(CompositionTest, KeepsTriangles) {
  auto of = [](int64_t k, bool upper) {
    return OneNode("Trilu", 14).input({2, 3}).ints({k}).set("upper", int64_t(upper));
  };
  expect(of(0, true), {2, 3}, {0, 1, 2, 0, 4, 5});
  expect(of(-1, false), {2, 3}, {0, 0, 0, 3, 0, 0});
  expect(of(INT64_MAX, false), {2, 3}, {0, 1, 2, 3, 4, 5});
  expect(of(INT64_MIN, false), {2, 3}, {0, 0, 0, 0, 0, 0});
  expectFails(OneNode("Trilu", 14).input({3}), {"expected rank 2 or more, found operand 0"});
}

TEST_F(CompositionTest, ChoosesTheFirstMaximum) {
  OneNode flat = OneNode("Hardmax", 11).input({1, 2, 2}, {1, 3, 3, 2});
  expect(flat, {1, 2, 2}, {0, 1, 0, 0}); // over both dims
  expect(OneNode("Hardmax", 13).input({1, 2, 2}, {1, 3, 3, 2}), {1, 2, 2}, {0, 1, 1, 0});
  expect(OneNode("Hardmax", 13).input({2, 0}), {2, 0}, {});
}

TEST_F(CompositionTest, NormalizesZerosToZero) {
  for (int64_t p : {1, 2})
    expect(OneNode("LpNormalization", 22).input({2, 2}, {0, 0, 0, -4}).set("p", p), {2, 2},
           {0, 0, 0, -1});
  expectFails(OneNode("LpNormalization", 22).input({2}).set("p", int64_t(3)),
              {"expected p = 1 or p = 2, found 3"});
  expect(OneNode("RMSNormalization", 23).input({1, 2}, {3, 4}).floats({1}, {2}).set("epsilon", 0.0),
         {1, 2}, {1.6970563, 2.2627417});
  expectFails(OneNode("RMSNormalization", 23).input({2, 3}).input({2}),
              {"expected a scale that broadcasts to operand 0"});
}

TEST_F(CompositionTest, CropsAndPadsAroundTheCenter) {
  expect(OneNode("CenterCropPad", 18).input({3, 2}).ints({2, 5}), {2, 5},
         {0, 0, 1, 0, 0, 0, 2, 3, 0, 0});
  expect(OneNode("CenterCropPad", 18).input({1, 4}).ints({1}).set("axes", Shape{-1}), {1, 1}, {1});
  expectFails(OneNode("CenterCropPad", 18).input({3, 2}).ints({2}), {"expected 2 sizes, found 1"});
  expectFails(
      OneNode("CenterCropPad", 18).input({3}).ints({-2}),
      {"expected a result with sizes of 0 or more and fewer than 2^40 elements, found [-2]"});
}

TEST_F(CompositionTest, LossesWeighAndIgnore) {
  auto of = [](const char *reduction) {
    return OneNode("NegativeLogLikelihoodLoss", 13)
        .input({3, 2}, {-1, -inf, -3, -4, -5, -6})
        .input({3}, {0, -100, 1}, INT64)
        .floats({2}, {1, 3})
        .set("ignore_index", int64_t(-100))
        .set("reduction", reduction);
  };
  expect(of("none"), {3}, {1, 0, 18});
  expect(of("sum"), {}, {19});
  expect(of("mean"), {}, {19.0f / 4});
  expectFails(of("median"), {"expected reduction \"none\", \"sum\" or \"mean\", found \"median\""});
  expectFails(OneNode("SoftmaxCrossEntropyLoss", 13).input({2, 0}).input({2}, {0, 0}, INT64),
              {"expected at least one class"});
  expectFails(OneNode("SoftmaxCrossEntropyLoss", 13)
                  .input({2, 3})
                  .input({2}, {0, 1}, INT64)
                  .floats({2}, {1, 1}),
              {"expected one weight for each of 3 classes, found operand 2"});
}

/// Scores in memory are gathered; gradients and scores that the graph computes compare all classes.
TEST_F(CompositionTest, LossesReadOnlyTheScoresOfLabels) {
  OneNode rows = OneNode("NegativeLogLikelihoodLoss", 13)
                     .input({1, 3, 4}, {0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11})
                     .input({1, 4}, {2, 0, -1, 3}, INT64) // the last two are no classes
                     .set("reduction", "none");
  expect(rows, {1, 4}, {8, 1, 0, 0});
  EXPECT_EQ(count<grad::GatherOp>(rows), 1);
  EXPECT_EQ(count<grad::IotaOp>(rows), 0);
  EXPECT_EQ(count<grad::GatherOp>(differentiated(rows)), 0);
  EXPECT_EQ(count<grad::IotaOp>(differentiated(rows)), 1);
}

/// From opset 24 on, keys past the last dim of a mask are masked, also if that dim is 1.
TEST_F(CompositionTest, AttentionMasksOfOneKey) {
  auto of = [](int64_t opset) {
    return OneNode("Attention", opset)
        .input({1, 1, 2, 1}, {1, 1})
        .input({1, 1, 2, 1}, {1, 1})
        .input({1, 1, 2, 1}, {5, 7})
        .floats({2, 1}, {0, 0});
  };
  expect(of(23), {1, 1, 2, 1}, {6, 6});
  expect(of(24), {1, 1, 2, 1}, {5, 5});
}

TEST_F(CompositionTest, AttentionWithoutAVisibleKeyIsZero) {
  OneNode one = OneNode("Attention", 23)
                    .input({1, 1, 2, 1}, {1, 1})
                    .input({1, 1, 2, 1}, {1, 1})
                    .input({1, 1, 2, 1}, {5, 7})
                    .floats({2, 2}, {-inf, -inf, 0, 0});
  expect(one, {1, 1, 2, 1}, {0, 6});
  auto of = [](const Shape &q, const Shape &k, const Shape &v) {
    return OneNode("Attention", 23).input(q).input(k).input(v);
  };
  expectFails(of({1, 3, 2, 4}, {1, 2, 5, 4}, {1, 2, 5, 4}),
              {"expected queries [B, H, S, D], keys [B, h, T, D] and values [B, h, T, E] where h "
               "divides H and neither H nor T is 0, found [1, 3, 2, 4]"});
  expectFails(of({1, 0, 2, 4}, {1, 1, 5, 4}, {1, 1, 5, 4}), {"found [1, 0, 2, 4]"});
  expectFails(of({1, 2, 4}, {1, 2, 4}, {1, 2, 4}),
              {"expected a number of heads that divides dim 2 of operand 0"});
  expectFails(of({1, 1, 2, 4}, {1, 1, 2, 4}, {1, 1, 2, 4}).input({3, 3}),
              {"expected a mask that broadcasts to [1, 1, 2, 2], found operand 3"});
  expectFails(of({1, 1, 2, 4}, {1, 1, 2, 4}, {1, 1, 2, 4}).nothing().input({1, 1, 3, 4}),
              {"expected past keys and past values, found one of them"});
}

TEST_F(CompositionTest, GridsAndWindowsSayWhatTheyExpect) {
  expectFails(OneNode("AffineGrid", 20).input({1, 2, 3}).ints({2, 1, 2, 3}),
              {"expected a size [N, C, H, W] or [N, C, D, H, W] and theta"});
  expectFails(OneNode("Col2Im", 18).input({1, 5, 6}).ints({3, 4}).ints({2, 2}),
              {"expected [N, C * 4, 6] for at most 4096 taps, found operand 0"});
  expectFails(OneNode("RotaryEmbedding", 23).input({1, 2, 3, 5}).input({1, 3, 2}).input({1, 3, 2}),
              {"expected an even number of at most 5 elements to rotate, found 5"});
  expectFails(OneNode("RotaryEmbedding", 23).input({1, 2, 3, 4}).input({1, 3, 1}).input({1, 3, 2}),
              {"expected a table of [1, 3, 2], found operand 1"});
}

TEST_F(CompositionTest, QuantizesInBlocksAndSaturates) {
  OneNode blocks = OneNode("QuantizeLinear", 21)
                       .input({1, 5}, {1, 2, 300, -300, 5})
                       .floats({1, 3}, {1, 2, 5})
                       .set("axis", int64_t(1))
                       .set("block_size", int64_t(2))
                       .set("output_dtype", int64_t(INT8));
  expect(blocks, {1, 5}, {1, 2, 127, -128, 1});
  expect(OneNode("QuantizeLinear", 10).input({2}, {NAN, inf}).floats({}, {1}), {2}, {0, 255});
  expect(OneNode("DequantizeLinear", 13)
             .input({2, 1}, {-128, 127}, INT8)
             .floats({2}, {1, 2})
             .input({2}, {127, -128}, INT8)
             .set("axis", int64_t(0)),
         {2, 1}, {-255, 510});
  expect(OneNode("DynamicQuantizeLinear", 11, 3).input({2}, {0, 0}), {2}, {0, 0});
  expectFails(OneNode("QuantizeLinear", 21).input({2, 3}).floats({2}, {1, 1}),
              {"expected one scale and zero point, one for each of the 3 indices of dim 1"});
  expectFails(
      OneNode("QuantizeLinear", 21).input({2}).floats({}, {1}).set("output_dtype", int64_t(8)),
      {"with output_dtype string is not supported"});
  expectFails(OneNode("DynamicQuantizeLinear", 11, 3).input({0}), {"expected elements, found"});
  expectFails(OneNode("MatMulInteger", 10)
                  .input({2, 2}, {}, UINT8)
                  .input({2, 2}, {}, UINT8)
                  .input({3}, {}, UINT8),
              {"expected one number or 2 of them, found operand 2"});
}

TEST_F(CompositionTest, BitsAsAnotherType) {
  constexpr int64_t asInt32 = 6, asInt64 = 7, asFloat8 = 17;
  auto bits = [](int64_t to) { return OneNode("BitCast", 26).input({2}, {1, -1}).set("to", to); };
  expect(bits(asInt32), {2}, {1065353216, -1082130432});
  expect(bits(1), {2}, {1, -1});
  expectFails(bits(asInt64),
              {"expected a type of 32 bits for operand 0 (\"x0\", f32 [2]), found int64"});
  expectFails(bits(asFloat8), {"to float8e4m3fn is not supported"});
}

} // namespace
