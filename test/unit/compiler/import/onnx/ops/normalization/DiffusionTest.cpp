// ONNX Runtime's operators of diffusion models, which it computes on GPUs alone. Expected numbers
// are those of their formulas in f64.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;

namespace {

enum { INT32 = 6, DOUBLE = 11 };

class DiffusionTest : public OneNodeTest {
protected:
  using Shape = OneNode::Shape;

  /// 4 channels in 2 groups, with scale and bias.
  static OneNode norm(const Shape &shape, int64_t activation) {
    OneNode one = contrib("GroupNorm").wave(shape, 0).wave({4}, 1).wave({4}, 2);
    return one.set("groups", int64_t(2)).set("epsilon", 1e-3).set("activation", activation);
  }
  static OneNode sum(int64_t activation, const Shape &skip, int outputs = 1) {
    OneNode one = contrib("SkipGroupNorm", outputs).wave({1, 2, 2, 4}, 0).wave({4}, 1);
    one.wave({4}, 2).wave(skip, 3).set("groups", int64_t(2)).set("epsilon", 1e-3);
    return one.set("activation", activation);
  }
};

TEST_F(DiffusionTest, NormalizesGroupsOfChannels) {
  expect(norm({1, 2, 2, 4}, 0), {1, 2, 2, 4},
         {0.6393234f, 1.489843f, 0.4906576f, -0.7783395f, 1.248505f, -0.6425464f, -0.9894091f,
          -0.868893f, -0.5086456f, 0.1452522f, 0.2288694f, -0.7722087f, 2.193426f, 0.7930789f,
          -0.5868423f, -0.8638515f});
  expect(norm({1, 2, 2, 4}, 1), {1, 2, 2, 4},
         {0.4185014f, 1.215794f, 0.3043359f, -0.2449262f, 0.9701394f, -0.2214672f, -0.2681584f,
          -0.2567446f, -0.1910021f, 0.07789138f, 0.1274731f, -0.2440191f, 1.973332f, 0.5460285f,
          -0.2097138f, -0.2561625f});
  expect(norm({1, 4, 1, 2}, 0).set("channels_last", int64_t(0)), {1, 4, 1, 2},
         {-0.4659452f, 0.9556342f, 1.369376f, 1.051485f, 0.7827534f, -0.1045766f, -0.850466f,
          -0.8592975f});
}

TEST_F(DiffusionTest, NormalizesASum) {
  Floats total{-0.6156825f, -0.8855417f, -0.7389169f, -0.2447678f, -0.2806944f, -1.880543f,
               -2.595942f,  -2.09043f,   -1.246949f,  -1.512945f,  -1.06738f,   -0.119809f,
               0.2389164f,  -1.210661f,  -2.090846f,  -1.987673f};
  Floats normalized{1.312427f,  0.4869938f,   0.2244176f,  -0.7654851f, 1.750056f,    -1.044891f,
                    -1.194721f, -0.852311f,   0.487739f,   -0.4789453f, -0.02659399f, -0.7596067f,
                    2.428877f,  -0.01355382f, -0.8087266f, -0.8474769f};
  for (const Shape &skip : {Shape{1, 4}, Shape{1, 1, 1, 4}}) {
    OneNode one = sum(0, skip, /*outputs=*/2).wave({4}, 4);
    expect(one, {1, 2, 2, 4}, normalized);
    expect(one, {1, 2, 2, 4}, total, 1);
  }
  expect(sum(1, {1, 2, 2, 4}), {1, 2, 2, 4},
         {1.561867f, 1.007649f, 0.1000348f, -0.2532944f, 0.006924944f, -0.2278165f, -0.2381833f,
          -0.2480261f, 1.292336f, 1.22327f, 0.5808651f, -0.2469589f, 0.2716863f, -0.2200193f,
          -0.2778338f, -0.254125f});
}

TEST_F(DiffusionTest, AddsABias) {
  expect(contrib("BiasAdd").wave({1, 2, 4}, 0).wave({4}, 1).wave({1, 2, 4}, 2), {1, 2, 4},
         {1.750768f, 2.063262f, 1.405372f, 0.08651291f, 0.1802945f, -0.0646587f, -0.279202f,
          -0.3624322f});
  expect(contrib("BiasSplitGelu").wave({1, 2, 4}, 0).wave({4}, 1), {1, 2, 2},
         {1.330014f, 1.20958f, -0.0974234f, -0.1045491f});
}

TEST_F(DiffusionTest, ConvolvesWithChannelsLast) {
  OneNode one = contrib("NhwcConv").wave({1, 2, 2, 3}, 0).wave({2, 1, 2, 3}, 1).wave({2}, 2);
  expect(one, {1, 2, 1, 2}, {2.387609f, 1.3265f, -2.592017f, 2.687447f});
  expectFails(contrib("NhwcConv").wave({1, 2, 3}, 0).wave({2, 3}, 1),
              {"expected rank 3 or more, found operand 1"});
}

TEST_F(DiffusionTest, SayWhatTheyExpect) {
  expectFails(norm({2, 4}, 0), {"expected rank 3 or more, found operand 0"});
  expectFails(norm({1, 2, 3}, 0), {"expected groups that divide 3 channels, found 2"});
  expectFails(norm({1, 2, 4}, 2), {"expected activation 0 (none) or 1 (SiLU), found 2"});
  expectFails(norm({1, 2, 6}, 0), {"expected 6 elements, found operand 1"});
  expectFails(norm({1, 0, 4}, 0), {"expected elements to normalize, found operand 0"});
  expectFails(sum(0, {1, 3, 1, 4}), {"expected a tensor that broadcasts to operand 0"});
  expectFails(
      contrib("SkipGroupNorm").input({1, 2, 4}).input({4}).input({4}).input({1, 2, 4}, {}, DOUBLE),
      {"expected operands of one element type, found operand 0"});
  auto biased = [](StringRef op, const OneNode::Shape &x, int32_t type = 1) {
    return contrib(op).input(x, {}, type).input({x.back()}, {}, type);
  };
  expectFails(biased("BiasSplitGelu", {1, 2, 3}), {"expected an even number of columns"});
  expectFails(biased("BiasSplitGelu", {2, 4}), {"expected rank 3, found operand 0"});
  expectFails(biased("BiasSplitGelu", {1, 2, 4}, INT32), {"expected a float as operand 0"});
  expectFails(biased("BiasAdd", {1, 2, 4}).input({2, 4}),
              {"expected operands of one shape, found operand 0"});
  expectFails(biased("BiasAdd", {1, 2, 4}).input({1, 2, 4}, {}, DOUBLE),
              {"expected operands of one element type, found operand 0"});
}

} // namespace
