// ONNX Runtime's mixtures of experts. Expected numbers are those of ONNX Runtime 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

class ExpertsTest : public OneNodeTest {
protected:
  /// 2 tokens of 3 numbers, and 3 experts whose first layer has `wide` results and whose second has
  /// 2 inputs.
  static OneNode experts(const char *activation, int64_t wide, int64_t k, bool hasBias = true) {
    OneNode one = contrib("MoE").set("activation_type", activation).set("k", k);
    one.wave({1, 2, 3}, 0).wave({2, 3}, 1).wave({3, wide, 3}, 2);
    if (!hasBias)
      return one.nothing().wave({3, 3, 2}, 4);
    return one.wave({3, wide}, 3).wave({3, 3, 2}, 4).wave({3, 3}, 5);
  }
  static OneNode gated(int64_t fusion) {
    return experts("swiglu", 4, 2).set("swiglu_fusion", fusion);
  }

  /// The same of codes of 4 bits: 2 experts of 32 x 16 and 16 x 32, with a scale for each row if
  /// there is no block.
  static OneNode coded(int64_t block) {
    OneNode one = contrib("QMoE").set("activation_type", "silu").set("k", int64_t(2));
    one.wave({2, 32}, 0).wave({2, 2}, 1);
    layer(one, 16, 32, block, 2).wave({2, 16}, 4);
    layer(one, 32, 16, block, 3).wave({2, 32}, 5);
    if (block)
      one.set("block_size", block);
    return one;
  }
  static OneNode &layer(OneNode &one, int64_t rows, int64_t columns, int64_t block, double phase) {
    one.bytes({2, rows, columns / 2}, someBytes(rows * columns));
    OneNode::Shape shape{2, rows};
    if (block)
      shape.push_back(columns / block);
    Floats scales = waveOf(llvm::product_of(shape), phase);
    for (float &scale : scales)
      scale = 0.02f + 0.01f * std::abs(scale);
    return one.floats(shape, scales);
  }
  static std::vector<uint8_t> someBytes(int64_t count) {
    Floats codes = codesOf(count, 37);
    return {codes.begin(), codes.end()};
  }

  /// Expects the first 4 numbers of both tokens.
  void expectFirst(const OneNode &one, const Floats &expected) {
    auto results = run(one);
    ASSERT_EQ(results.size(), 1u);
    ASSERT_EQ(results[0].getShape(), ArrayRef<int64_t>({2, 32}));
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_NEAR(results[0].getFloat(i / 4 * 32 + i % 4), expected[size_t(i)], 1e-5) << i;
  }
};

TEST_F(ExpertsTest, ExpertsAreChosenAndWeighted) {
  expect(experts("relu", 2, 1), {1, 2, 3},
         {0.417704f, 0.360382f, 0.163593f, -0.975955f, -0.768775f, 0.36634f});
  expect(experts("gelu", 2, 2), {1, 2, 3},
         {0.0148848f, 0.214554f, 0.299108f, -0.681819f, -0.42488f, 0.517662f});
  expect(experts("silu", 2, 3), {1, 2, 3},
         {0.311768f, 0.398725f, -0.0884007f, -0.528572f, -0.484979f, 0.239547f});
  expect(experts("identity", 2, 2), {1, 2, 3},
         {0.498404f, 0.523271f, -0.0794674f, -0.363639f, -0.326532f, 0.232914f});
  expect(experts("silu", 2, 2).set("normalize_routing_weights", int64_t(1)), {1, 2, 3},
         {0.0742408f, 0.358895f, 0.383259f, -0.718848f, -0.430814f, 0.547991f});
  expect(experts("relu", 2, 2, /*hasBias=*/false), {1, 2, 3},
         {0.475989f, -0.0953366f, -0.508397f, -0.269189f, -0.632958f, 0.0540244f});
}

TEST_F(ExpertsTest, GatesAlternateWithWhatTheyGate) {
  expect(gated(1), {1, 2, 3}, {-0.103033f, 0.332932f, 0.457267f, 0.211822f, 0.405136f, -0.093828f});
  OneNode limited = gated(1).set("activation_alpha", 1.702).set("activation_beta", 1.0);
  expect(limited.set("swiglu_limit", 0.5), {1, 2, 3},
         {-0.0873698f, 0.119885f, 0.369181f, -0.274668f, -0.155321f, 0.202143f});
  // The same, with all gates of an expert before what they gate.
  OneNode halves = contrib("MoE").set("activation_type", "swiglu").set("k", int64_t(2));
  halves.wave({1, 2, 3}, 0).wave({2, 3}, 1);
  Floats rows = waveOf(36, 2), bias = waveOf(12, 3), parted, partedBias;
  for (size_t expert : {0, 1, 2})
    for (size_t row : {0, 2, 1, 3}) {
      size_t at = 4 * expert + row;
      parted.insert(parted.end(), rows.begin() + 3 * at, rows.begin() + 3 * at + 3);
      partedBias.push_back(bias[at]);
    }
  halves.input({3, 4, 3}, parted).input({3, 4}, partedBias).wave({3, 3, 2}, 4).wave({3, 3}, 5);
  expect(halves.set("swiglu_fusion", int64_t(2)), {1, 2, 3},
         {-0.103033f, 0.332932f, 0.457267f, 0.211822f, 0.405136f, -0.093828f});
}

TEST_F(ExpertsTest, WeightsMayBeCodes) {
  expectFirst(coded(0), {-0.109573f, -0.139967f, -0.101059f, -0.0375565f, -0.538604f, -0.476395f,
                         -0.101005f, 0.367573f});
  OneNode rows = coded(0).nothing().nothing().nothing();
  expectFirst(
      rows.bytes({2, 8}, someBytes(16)).bytes({2, 16}, someBytes(32)),
      {-0.048822f, -0.0429127f, -0.090034f, 0.167819f, 0.367636f, 0.22117f, 0.350575f, 0.774594f});
  OneNode blocks = coded(16).nothing().nothing().nothing();
  expectFirst(blocks.bytes({2, 16, 1}, someBytes(32)).bytes({2, 32, 1}, someBytes(64)),
              {0.00284356f, -0.0371281f, -0.331104f, -0.21823f, 0.224632f, -0.231229f, -0.145898f,
               -0.426486f});
}

TEST_F(ExpertsTest, SayWhatTheyExpect) {
  expectFails(experts("tanh", 2, 1), {"expected activation_type relu, gelu, silu, swiglu or "
                                      "identity, found \"tanh\""});
  expectFails(experts("relu", 2, 4), {"expected k from 1 to 3, found 4"});
  expectFails(gated(0), {"expected swiglu_fusion 1 or 2, found 0"});
  expectFails(gated(1).set("swiglu_limit", -1.0), {"expected a swiglu_limit of 0 or more, found"});
  expectFails(gated(1).set("swiglu_limit", std::nan("")),
              {"expected a swiglu_limit of 0 or more, found"});
  expectFails(experts("relu", 2, 1).set("use_sparse_mixer", int64_t(1)),
              {"cannot take use_sparse_mixer"});
  expectFails(experts("swiglu", 3, 1), {"expected a number for each token and expert, and layers"});
  expectFails(experts("relu", 4, 1), {"expected weights [3, 3, 4], found operand 4"});
  expectFails(experts("relu", 2, 1).wave({3, 2, 3}, 0), {"cannot take a third layer"});
  auto tokens = [](const OneNode::Shape &x, int32_t type, const OneNode::Shape &bias) {
    OneNode one = contrib("MoE").input(x, {}, type).input({2, 3}, {}, type);
    return one.input({3, 2, 3}, {}, type).input(bias).input({3, 3, 2}, {}, type);
  };
  expectFails(tokens({2, 3}, 1, {2, 2}), {"expected a bias [3, 2], found operand 3"});
  expectFails(tokens({2, 3}, DOUBLE, {3, 2}),
              {"expected operands of one element type, found operand 0"});
  expectFails(tokens({2, 3}, INT32, {3, 2}), {"expected a float as operand 0"});
  expectFails(tokens({3}, 1, {3, 2}), {"expected rank 2 or 3, found operand 0"});
}

TEST_F(ExpertsTest, CodesSayWhatTheyExpect) {
  expectFails(coded(0).set("quant_type", "fp4"), {"expected quant_type int, found \"fp4\""});
  expectFails(coded(0).set("weights_prepacked", int64_t(1)),
              {"cannot take weights in another order than ONNX's"});
  expectFails(coded(0).wave({2, 16, 32}, 0),
              {"expected two layers without scales of tensors, found operand 8"});
  expectFails(coded(24),
              {"expected a block_size that is a power of 2 from 16 to 1048576, found 24"});
  expectFails(coded(0).set("expert_weight_bits", int64_t(3)),
              {"expected codes of 2, 4 or 8 bits, found 3"});
  expectFails(coded(0).set("fc1_expert_weight_bits", int64_t(8)),
              {"expected 1024 bytes of codes, found operand 2"});
  expectFails(contrib("QMoE").wave({2, 32}, 0).wave({2, 2}, 1).bytes({2, 16, 16}, someBytes(512)),
              {"operand 5 is missing"});
}

} // namespace
