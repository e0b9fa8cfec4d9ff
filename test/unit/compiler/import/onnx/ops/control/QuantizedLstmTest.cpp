// ONNX Runtime's DynamicQuantizeLSTM. Expected numbers are those of ONNX Runtime 1.32 with one
// thread.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

class QuantizedLstmTest : public OneNodeTest {
protected:
  using Shape = OneNode::Shape;

  /// 3 steps of 2 rows of 3 numbers, and weights of 2 hidden elements; no other operands.
  static OneNode lstm(int32_t type, int64_t directions = 1) {
    OneNode one = contrib("DynamicQuantizeLSTM", 3).set("hidden_size", int64_t(2));
    one.wave({3, 2, 3}, 0);
    one.input({directions, 3, 8}, codesOf(directions * 24, 37, type == INT8), type);
    return one.input({directions, 2, 8}, codesOf(directions * 16, 29, type == INT8), type);
  }
  static OneNode withoutOthers(OneNode one) {
    for (int i = 0; i < 5; ++i)
      one.nothing();
    return one;
  }
  static OneNode plain(int32_t type) { return withoutOthers(lstm(type)); }
};

TEST_F(QuantizedLstmTest, InputsAndStatesAreQuantized) {
  OneNode one = plain(INT8).input({1}, {0.01f}).bytes({1}, {0}, INT8);
  one.input({1}, {0.02f}).bytes({1}, {0}, INT8);
  expect(one, {3, 1, 2, 2},
         {0.140508f, 0.123768f, -0.149544f, -0.045056f, 0.049837f, 0.230917f, 0.168004f, 0.097484f,
          -0.215869f, -0.098316f, 0.081836f, 0.225576f});
  expect(one, {1, 2, 2}, {-0.215869f, -0.098316f, 0.081836f, 0.225576f}, 1);
  expect(one, {1, 2, 2}, {-0.266406f, -0.12765f, 0.286378f, 0.331655f}, 2);
}

TEST_F(QuantizedLstmTest, ZeroPointsMayBeNumbersOfTheRun) {
  OneNode one = plain(UINT8).input({1}, {0.01f}).bytes({1}, {100});
  one.input({1}, {0.02f}).input({1}, {110}, UINT8).set("direction", "reverse");
  expect(one, {3, 1, 2, 2},
         {-0.076779f, 0.14817f, 0.074431f, -0.029123f, 0.081408f, 0.128876f, -0.094343f, 0.146281f,
          0.081163f, -0.117769f, 0.065169f, 0.128537f});
  OneNode mixed = plain(UINT8);
  mixed.input({1, 8}, {0.01f, 0.011f, 0.012f, 0.013f, 0.014f, 0.015f, 0.016f, 0.017f});
  mixed.bytes({1, 8}, std::vector<uint8_t>(8, 0)).input({1}, {0.02f}).bytes({1}, {110});
  expect(mixed, {1, 2, 2}, {0.101956f, -0.123572f, -0.278471f, 0.009108f}, 2);
}

TEST_F(QuantizedLstmTest, BothDirectionsHaveScalesOfTheirOwn) {
  OneNode one = lstm(UINT8, /*directions=*/2).set("direction", "bidirectional");
  one.wave({2, 16}, 1).nothing().wave({2, 2, 2}, 2);
  one.wave({2, 2, 2}, 3).wave({2, 6}, 4);
  Floats input, state;
  for (int i = 0; i < 16; ++i) {
    input.push_back(0.01f + 0.001f * float(i));
    state.push_back(0.02f - 0.001f * float(i));
  }
  one.input({2, 8}, input).bytes({2, 8}, std::vector<uint8_t>(16, 120));
  one.input({2, 8}, state).bytes({2, 8}, std::vector<uint8_t>(16, 130));
  expect(one, {3, 2, 2, 2},
         {-0.053651f, -0.223637f, -0.595212f, -0.746388f, 0.023279f,  0.135123f,
          -0.213891f, -0.541282f, -0.549601f, 0.35672f,   -0.856499f, -0.749874f,
          -0.117187f, -0.11855f,  0.341142f,  0.060528f,  -0.584002f, 0.083322f,
          -0.747207f, 0.459658f,  -0.332788f, -0.110951f, 0.231289f,  0.544257f});
}

TEST_F(QuantizedLstmTest, StepsBehindAllRowsDoNotWidenTheRange) {
  Floats x = waveOf(18, 0);
  std::fill(x.begin() + 12, x.end(), 50.0f); // the last of 3 steps
  OneNode one = contrib("DynamicQuantizeLSTM", 3).set("hidden_size", int64_t(2));
  one.input({3, 2, 3}, x).input({1, 3, 8}, codesOf(24, 37, /*isSigned=*/true), INT8);
  one.input({1, 2, 8}, codesOf(16, 29, /*isSigned=*/true), INT8).nothing();
  one.input({2}, {2, 1}, INT32).nothing().nothing().nothing();
  one.input({1}, {0.01f}).bytes({1}, {0}, INT8).input({1}, {0.02f}).bytes({1}, {0}, INT8);
  expect(one, {3, 1, 2, 2},
         {0.140508f, 0.123768f, -0.149544f, -0.045056f, 0.049837f, 0.230917f, 0, 0, 0, 0, 0, 0});
  expect(one, {1, 2, 2}, {0.170519f, 0.339692f, -0.189632f, -0.064639f}, 2);
}

TEST_F(QuantizedLstmTest, SaysWhatItExpects) {
  expectFails(lstm(INT8), {"operand 8 is missing"});
  OneNode scaled = plain(INT8).input({1}).bytes({1}, {0}, INT8);
  expectFails(OneNode(scaled).input({1}), {"operand 11 is missing"});
  expectFails(OneNode(scaled).input({1}).bytes({1}, {0}),
              {"expected operands of one element type, found operand 2"});
  expectFails(OneNode(scaled).input({4}).bytes({1}, {0}, INT8), {"expected [1, 8] as operand 10"});
  expectFails(OneNode(scaled).input({1}, {}, DOUBLE).bytes({1}, {0}, INT8),
              {"expected operands of one element type, found operand 0"});
  auto weights = [](const Shape &input, const Shape &w, const Shape &r, int32_t type = INT8) {
    OneNode one = contrib("DynamicQuantizeLSTM", 3).input(input).input(w, {}, type);
    one = withoutOthers(one.input(r, {}, type)).input({1}).bytes({1}, {0}, INT8);
    return one.input({1}).bytes({1}, {0}, INT8);
  };
  expectFails(weights({3, 2, 3}, {1, 3, 8}, {1, 2, 8}, FLOAT),
              {"expected integers of 8 or 16 bits as operand 1"});
  expectFails(weights({3, 2, 4}, {1, 3, 8}, {1, 2, 8}), {"expected [1, 4, 8] as operand 1"});
  expectFails(weights({0, 2, 3}, {1, 3, 8}, {1, 2, 8}), {"expected elements, found operand 0"});
  expectFails(weights({3, 2, 3}, {1, 3, 0}, {1, 0, 0}), {"expected elements, found operand 2"});
}

} // namespace
