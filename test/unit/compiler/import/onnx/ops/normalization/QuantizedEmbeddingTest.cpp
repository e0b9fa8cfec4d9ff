// ONNX Runtime's QEmbedLayerNormalization. Expected numbers are those of ONNX Runtime 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

class QuantizedEmbeddingTest : public OneNodeTest {
protected:
  /// Words, tables, scale and shift of codes, in rows of 4; the mask and all behind it are missing.
  static OneNode codes(bool hasSegments, int32_t type = UINT8) {
    OneNode one = contrib("QEmbedLayerNormalization", 2).input({2, 3}, {1, 0, 2, 3, 1, 1}, INT32);
    if (hasSegments)
      one.input({2, 3}, {0, 0, 1, 1, 0, 1}, INT32);
    else
      one.nothing();
    one.input({4, 4}, codesOf(16, 37), type).input({5, 4}, codesOf(20, 41), UINT8);
    if (hasSegments)
      one.input({2, 4}, codesOf(8, 53), UINT8);
    else
      one.nothing();
    one.input({4}, {90, 119, 148, 177}, UINT8).input({4}, codesOf(4, 61), UINT8);
    return one.set("epsilon", 1e-3);
  }
  /// The scales and zero points of all.
  static OneNode &decoded(OneNode &one, bool hasSegments) {
    auto segment = [&](std::vector<float> number, int32_t type) {
      if (hasSegments)
        one.input({}, number, type);
      else
        one.nothing();
    };
    one.input({}, {0.02f}).input({}, {0.01f});
    segment({0.03f}, /*type=*/1);
    one.input({}, {0.01f}).input({}, {0.02f}).input({}, {128}, UINT8).input({}, {100}, UINT8);
    segment({90}, UINT8);
    return one.input({}, {3}, UINT8).input({}, {60}, UINT8);
  }
};

TEST_F(QuantizedEmbeddingTest, TablesAreCodes) {
  OneNode one = codes(/*hasSegments=*/true).input({2, 3}, {1, 1, 0, 1, 0, 0}, INT32);
  decoded(one, /*hasSegments=*/true);
  expect(one, {2, 3, 4}, {-2.466518f, -0.033704f, 3.216604f,  2.701668f,  -2.504757f, -0.345984f,
                          2.499636f,  4.106927f,  -0.535181f, -1.747477f, 0.870656f,  4.224791f,
                          0.182643f,  -0.299661f, -0.462304f, 2.21697f,   -2.082395f, 0.315475f,
                          3.449346f,  1.130363f,  0.07918f,   -1.150034f, 1.771173f,  1.019286f});
  expect(one, {2}, {2, 1}, 1);
}

TEST_F(QuantizedEmbeddingTest, SegmentsMayBeMissing) {
  OneNode one = codes(/*hasSegments=*/false).nothing();
  expect(decoded(one, /*hasSegments=*/false), {2, 3, 4},
         {-1.46383f,  0.577304f, 3.072977f,  -0.047869f, -2.349003f, 0.111779f,
          3.384453f,  2.046994f, -2.366875f, -0.498611f, 1.888264f,  4.793749f,
          -0.723034f, 1.531821f, -0.649776f, 1.506068f,  -1.131251f, 0.65226f,
          2.706068f,  -0.38517f, -1.46383f,  0.577304f,  3.072977f,  -0.047869f});
}

TEST_F(QuantizedEmbeddingTest, SaysWhatItExpects) {
  OneNode scales = codes(/*hasSegments=*/false).nothing(), numbers = scales;
  expectFails(scales, {"operand 8 is missing"});
  expectFails(numbers.input({4}).input({}).nothing().input({}).input({}).input({}, {}, UINT8),
              {"expected one number as scale and zero point, found operand 8"});
  OneNode types = codes(/*hasSegments=*/false, INT8).nothing();
  expectFails(decoded(types, /*hasSegments=*/false),
              {"expected operands of one element type, found operand 2"});
  OneNode doubles =
      codes(/*hasSegments=*/false).nothing().input({}).input({}, {}, DOUBLE).nothing();
  doubles.input({}).input({}).input({}, {}, UINT8).input({}, {}, UINT8).nothing();
  expectFails(doubles.input({}, {}, UINT8).input({}, {}, UINT8),
              {"expected operands of one element type, found operand 8"});
}

} // namespace
