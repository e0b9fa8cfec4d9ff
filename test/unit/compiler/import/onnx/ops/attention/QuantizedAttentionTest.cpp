// ONNX Runtime's QAttention. Expected numbers are those of ONNX Runtime 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

class QuantizedAttentionTest : public OneNodeTest {
protected:
  using Shape = OneNode::Shape;

  /// Two heads of 2 positions: input and weights.
  static OneNode unscaled(int outputs = 1, int32_t inputType = UINT8) {
    OneNode one = contrib("QAttention", outputs).set("num_heads", int64_t(2));
    one.input({1, 2, 4}, codesOf(8, 37), inputType);
    return one.input({4, 12}, codesOf(48, 29, /*isSigned=*/true), INT8);
  }
  static OneNode attention() { return unscaled().wave({12}, 2).input({}, {0.01f}); }
};

TEST_F(QuantizedAttentionTest, CodesAreProjected) {
  expect(
      attention().input({}, {0.02f}), {1, 2, 4},
      {-1.473568f, 1.673325f, 2.236944f, 0.356803f, -1.485237f, 1.677309f, 2.028944f, 0.627694f});
  OneNode zeros = attention().input({}, {0.02f}).input({1}, {1}, INT32);
  expect(
      zeros.input({}, {128}, UINT8).input({}, {3}, INT8), {1, 2, 4},
      {1.56912f, -0.178628f, -2.350682f, -0.057361f, 1.56912f, -0.178628f, -2.350682f, -0.057361f});
}

TEST_F(QuantizedAttentionTest, ColumnsHaveScalesAndKeysHaveAPast) {
  OneNode one = unscaled(/*outputs=*/2).wave({12}, 2).input({}, {0.01f});
  Floats scales;
  for (int i = 0; i < 12; ++i)
    scales.push_back(0.01f + 0.002f * float(i));
  one.input({12}, scales).nothing().input({}, {128}, UINT8).input({12}, Floats(12, 0), INT8);
  one.wave({2, 1, 2, 1, 2}, 3).set("unidirectional", int64_t(1));
  expect(
      one, {1, 2, 4},
      {-0.37119f, 0.164855f, 0.773281f, 0.993805f, -0.207173f, -0.136466f, 0.793154f, 0.996145f});
  expect(one, {2, 1, 2, 3, 2},
         {0.14112f,   -0.529836f, -2.943044f, 2.00286f,   2.373435f,  2.28126f,
          -0.951602f, -0.925815f, 1.045951f,  3.10948f,   3.49587f,   -0.97244f,
          -0.464602f, 0.21512f,   1.52328f,   -0.854548f, -0.36536f,  -0.160148f,
          0.793668f,  0.998941f,  -3.993082f, -0.207121f, -0.325881f, -5.301521f},
         1);
}

TEST_F(QuantizedAttentionTest, SaysWhatItExpects) {
  expectFails(unscaled(1, INT32).wave({12}, 2).input({}).input({}),
              {"expected integers of 8 or 16 bits as operand 0"});
  expectFails(contrib("QAttention")
                  .input({2, 4}, {}, UINT8)
                  .input({4, 12}, {}, INT8)
                  .input({12})
                  .input({})
                  .input({}),
              {"expected rank 3, found operand 0"});
  expectFails(attention().input({5}), {"expected one number or 12 of them, found operand 4"});
  expectFails(unscaled().input({12}, {}, DOUBLE).input({}).input({}),
              {"expected operands of one element type, found operand 3"});
  expectFails(unscaled().input({11}).input({}).input({}),
              {"expected a bias of 12 elements, found operand 2"});
  expectFails(
      attention().input({}).nothing().nothing().nothing().input({2, 1, 2, 1, 2}, {}, DOUBLE),
      {"expected operands of one element type, found operand 3"});
  OneNode headless = contrib("QAttention").input({1, 2, 4}, {}, UINT8).input({4, 12}, {}, INT8);
  headless.input({12}).input({}).input({});
  for (int64_t heads : {0, 3}) {
    std::string expected = "expected queries, keys and values of sizes that num_heads (" +
                           std::to_string(heads) +
                           ") divides and that add up to 12, found [4, 4, 4]";
    expectFails(OneNode(headless).set("num_heads", heads), {expected});
  }
  constexpr int64_t most = std::numeric_limits<int64_t>::max(); // the sum is 12 after it wraps
  expectFails(headless.set("num_heads", int64_t(1)).set("qkv_hidden_sizes", {most, most, 14}),
              {"and that add up to 12, found [9223372036854775807, 9223372036854775807, 14]"});
  expectFails(attention().input({}).set("past_present_share_buffer", int64_t(1)),
              {"cannot take do_rotary and past_present_share_buffer"});
}

} // namespace
