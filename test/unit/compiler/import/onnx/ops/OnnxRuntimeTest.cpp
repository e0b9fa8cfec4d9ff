// Operators of ONNX Runtime's domain. Expected numbers are those of ONNX Runtime 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

class OnnxRuntimeTest : public OneNodeTest {
protected:
  /// Adds codes of u8 with a scale and a zero point.
  static OneNode &quantized(OneNode &one, const OneNode::Shape &shape, std::vector<float> codes,
                            float scale, float zero, int32_t type = UINT8) {
    return one.input(shape, codes, type).input({}, {scale}).input({}, {zero}, type);
  }
  /// A node of one quantized tensor [2, 2], with the scale and zero point of its result.
  static OneNode unary(StringRef op, float scale, float resultScale, float resultZero) {
    OneNode one = contrib(op);
    quantized(one, {2, 2}, {10, 250, 128, 0}, scale, 128);
    return one.input({}, {resultScale}).input({}, {resultZero}, UINT8);
  }
};

// Codes -------------------------------------------------------------------------------------------

TEST_F(OnnxRuntimeTest, QuantizedTensorsAreAddedAndMultiplied) {
  OneNode sum = contrib("QLinearAdd");
  quantized(sum, {2, 2}, {10, 250, 128, 0}, 0.5, 128);
  quantized(sum, {2}, {4, 200}, 0.25, 100).input({}, {1}).input({}, {100}, UINT8);
  expect(sum, {2, 2}, {17, 186, 76, 61});
  OneNode product = contrib("QLinearMul");
  quantized(product, {2, 2}, {10, -6, -128, 0}, 0.5, 3, INT8);
  quantized(product, {2}, {4, -56}, 0.25, -2, INT8).input({}, {4}).input({}, {10}, INT8);
  expect(product, {2, 2}, {11, 25, -15, 15});
}

TEST_F(OnnxRuntimeTest, ZeroPointsMayBeMissing) {
  OneNode sum = contrib("QLinearAdd");
  sum.input({2}, {1, 255}, UINT8).input({}, {1}).nothing();
  sum.input({2}, {3, 4}, UINT8).input({}, {2}).nothing().input({}, {1});
  expect(sum, {2}, {7, 255});
}

TEST_F(OnnxRuntimeTest, FunctionsOfQuantizedTensors) {
  expect(unary("QLinearSigmoid", 0.05f, 1 / 256.0f, 0), {2, 2}, {1, 255, 128, 0});
  expect(unary("QLinearLeakyRelu", 0.5, 0.25, 100).set("alpha", 0.1), {2, 2}, {76, 255, 100, 74});
  for (int64_t opset : {11, 13})
    expect(
        unary("QLinearSoftmax", 0.01f, 1 / 256.0f, 0).set("axis", int64_t(1)).set("opset", opset),
        {2, 2}, {21, 235, 200, 56});
}

TEST_F(OnnxRuntimeTest, QuantizedPicturesArePooled) {
  OneNode all = contrib("QLinearGlobalAveragePool");
  quantized(all, {1, 2, 2, 2}, {}, 1, 2).input({}, {0.5}).input({}, {1}, UINT8);
  expect(all, {1, 2, 1, 1}, {0, 8});
  OneNode windows = contrib("QLinearAveragePool");
  quantized(windows, {1, 1, 3, 3}, {}, 1, 2).input({}, {0.5}).input({}, {1}, UINT8);
  windows.set("kernel_shape", {2, 2}).set("pads", {1, 1, 0, 0});
  expect(windows, {1, 1, 3, 3}, {0, 0, 0, 0, 1, 3, 6, 7, 9});
  OneNode wide = contrib("QLinearAveragePool"); // the last windows reach beyond the picture
  quantized(wide, {1, 1, 3, 3}, {0, 10, 20, 30, 40, 50, 60, 70, 80}, 1, 2);
  wide.input({}, {0.5}).input({}, {7}, UINT8).set("kernel_shape", {2, 2}).set("strides", {2, 2});
  wide.set("ceil_mode", int64_t(1)).set("count_include_pad", int64_t(1));
  expect(wide, {1, 1, 2, 2}, {43, 40, 70, 46});
}

TEST_F(OnnxRuntimeTest, QuantizedTensorsAreJoined) {
  OneNode one = contrib("QLinearConcat").input({}, {0.5}).input({}, {10}, UINT8);
  quantized(one, {2, 2}, {10, 250, 128, 0}, 1, 128);
  quantized(one, {2, 1}, {4, 200}, 0.25, 0).set("axis", int64_t(1));
  expect(one, {2, 3}, {0, 254, 12, 10, 0, 110});
}

TEST_F(OnnxRuntimeTest, ElementsOfQuantizedTensorsAreChosen) {
  auto choose = [](const OneNode::Shape &shape, int32_t type = UINT8) {
    OneNode one = contrib("QLinearWhere").input({2, 1}, {1, 0}, BOOL);
    quantized(one, {2, 3}, {0, 41, 82, 123, 164, 205}, 0.5, 100);
    quantized(one, shape, {0, 53, 106}, 0.25, 7, type);
    return one.input({}, {1}).input({}, {30}, UINT8);
  };
  expect(choose({3}), {2, 3}, {0, 0, 21, 28, 42, 55});
  expectFails(choose({3, 1}), {"expected shapes that broadcast, found operand 0"});
  expectFails(choose({3}, INT8), {"expected operands of one element type, found operand 1"});
  OneNode numbers = contrib("QLinearWhere").input({2});
  quantized(numbers, {2}, {}, 1, 0);
  expectFails(quantized(numbers, {2}, {}, 1, 0).input({}).input({}, {}, UINT8),
              {"expected a bool as operand 0"});
}

TEST_F(OnnxRuntimeTest, OldNamesAndThoseOfExporters) {
  OneNode product = contrib("TransposeMatMul").wave({2, 3}, 0).wave({2, 3}, 1);
  expect(product.set("transB", int64_t(1)).set("alpha", 2.0), {2, 2},
         {2.608966f, -2.714953f, 1.643241f, 0.347658f});
  expect(contrib("Trilu").wave({2, 3}, 0), {2, 3},
         {0, 0.644218f, 0.98545f, 0, 0.334988f, -0.350783f});
  expect(contrib("GridSample").wave({1, 1, 3, 3}, 0).wave({1, 2, 2, 2}, 1), {1, 1, 2, 2},
         {-0.238695f, -0.363418f, 0.028267f, 0.255829f});
}

TEST_F(OnnxRuntimeTest, QuantizedTensorsSayWhatTheyExpect) {
  OneNode several = contrib("QLinearSigmoid");
  several.input({2, 2}, {}, UINT8).input({2}).nothing().input({}, {1});
  expectFails(several, {"expected one number as scale and zero point, found operand 1"});
  OneNode incomplete = contrib("QLinearSigmoid").input({2}, {}, UINT8).input({}, {1});
  expectFails(incomplete, {"operand 3 is missing"});
  expectFails(contrib("QLinearSigmoid").input({2}, {}, UINT8).nothing().nothing().input({}, {1}),
              {"operand 1 is missing"});
  OneNode shapes = contrib("QLinearAdd");
  quantized(shapes, {2}, {}, 1, 0);
  quantized(shapes, {3}, {}, 1, 0).input({}, {1}).input({}, {0}, UINT8);
  expectFails(shapes, {"expected shapes that broadcast, found operand 0"});
  OneNode parts = contrib("QLinearConcat").input({}, {1}).input({}, {0}, UINT8);
  quantized(parts, {2}, {}, 1, 0).input({2}, {}, UINT8).set("axis", int64_t(0));
  expectFails(parts, {"expected a scale and a zero point for each tensor, found 6 operands"});
  OneNode sizes = contrib("QLinearConcat").input({}, {1}).input({}, {0}, UINT8);
  quantized(sizes, {2, 2}, {}, 1, 0);
  quantized(sizes, {3, 2}, {}, 1, 0).set("axis", int64_t(1));
  expectFails(sizes, {"expected shapes that agree but in dim 1, found operand 2"});
  OneNode flat = contrib("QLinearGlobalAveragePool");
  quantized(flat, {2, 2}, {}, 1, 0).input({}, {1}).input({}, {0}, UINT8);
  expectFails(flat, {"expected rank 3 or more and elements to pool"});
  OneNode empty = contrib("QLinearSoftmax");
  quantized(empty, {0, 2}, {}, 1, 0).input({}, {1}).input({}, {0}, UINT8);
  expectFails(empty, {"expected elements, found operand 0"});
}

TEST_F(OnnxRuntimeTest, QuantizedTensorsHaveTheirTypes) {
  auto sigmoid = [] { return contrib("QLinearSigmoid"); };
  auto codes = [&] {
    OneNode one = sigmoid();
    return quantized(one, {2}, {}, 1, 0);
  };
  expectFails(sigmoid().input({2}).input({}).nothing().input({}),
              {"expected integers of 8 or 16 bits as operand 0"});
  expectFails(sigmoid().input({2}, {}, UINT8).input({}, {}, UINT8).nothing().input({}),
              {"expected a float as operand 1"});
  expectFails(sigmoid().input({2}, {}, UINT8).input({}).input({}, {}, INT8).input({}),
              {"expected operands of one element type, found operand 0"});
  expectFails(codes().input({2}), {"expected one number as scale and zero point, found operand 3"});
  expectFails(codes().input({}).input({}), {"expected integers of 8 or 16 bits as operand 4"});
  expectFails(codes().input({}).input({2}, {}, UINT8),
              {"expected one number as scale and zero point, found operand 4"});
  OneNode product = contrib("QLinearMul");
  quantized(product, {2}, {}, 1, 0);
  expectFails(quantized(product, {2}, {}, 1, 0, INT8).input({}),
              {"expected operands of one element type, found operand 0"});
  expectFails(unary("QLinearSoftmax", 1, 1, 0).set("axis", int64_t(2)),
              {"expected an axis from -2 to 1, found 2"});
  OneNode parts = contrib("QLinearConcat").input({}, {1}).input({}, {0}, UINT8);
  quantized(parts, {2, 2}, {}, 1, 0);
  OneNode ranks = parts;
  expectFails(parts.set("axis", int64_t(2)), {"expected an axis from -2 to 1, found 2"});
  expectFails(quantized(ranks, {2}, {}, 1, 0), {"expected rank 2, found operand 5"});
}

TEST_F(OnnxRuntimeTest, CodesOf16BitsAreOfThisDomain) {
  expect(
      contrib("DequantizeLinear").input({2}, {1, 3}, INT16).input({}, {0.5}).input({}, {-9}, INT16),
      {2}, {5, 6});
  expect(contrib("QuantizeLinear").input({2}, {1, -3}).input({}, {0.5}).input({}, {9}, INT16), {2},
         {11, 3});
}

// Products ----------------------------------------------------------------------------------------

TEST_F(OnnxRuntimeTest, GemmsOfQuantizedTensors) {
  OneNode codes = contrib("QGemm");
  quantized(codes, {2, 2}, {10, 250, 128, 0}, 0.5, 128).input({2, 3}, {1, -2, 3, 4, 5, -6}, INT8);
  codes.floats({3}, {0.1f, 0.2f, 0.3f}).input({3}, {0, 0, 0}, INT8);
  OneNode half = codes;
  codes.input({3}, {10, 20, 30}, INT32).input({}, {2}).input({}, {100}, UINT8);
  expect(codes, {2, 3}, {110, 143, 21, 87, 69, 160});
  expectFails(half.nothing().input({}, {2}),
              {"expected both a scale and a zero point of the result, or none"});
  OneNode floats = contrib("QGemm");
  quantized(floats, {2, 2}, {10, 250, 128, 0}, 0.5, 128).set("transB", int64_t(1));
  quantized(floats, {3, 2}, {1, 4, -2, 5, 3, -6}, 0.1f, 0, INT8).set("alpha", 2.0);
  expect(floats, {2, 3}, {37, 84.6f, -108.6f, -51.2f, -64, 76.8f});
  expectFails(floats.set("transA", int64_t(1)).input({3}), {"expected a bias of 32-bit integers"});
  OneNode sums = contrib("QGemm");
  quantized(sums, {2, 3}, {}, 1, 0);
  expectFails(quantized(sums, {2, 3}, {}, 1, 0),
              {"expected sums over one dim, found 3 factors of"});
}

TEST_F(OnnxRuntimeTest, ProductsOfCodesAreFloats) {
  OneNode whole = contrib("MatMulIntegerToFloat").input({2, 2}, {10, 250, 128, 0}, UINT8);
  whole.input({2, 3}, {1, -2, 3, 4, 5, -6}, INT8).input({}, {0.5}).floats({3}, {0.25, 0.5, 0.125});
  whole.input({}, {128}, UINT8).nothing().floats({3}, {1, 2, 3});
  expect(whole, {2, 3}, {47.25, 213.5, -64.875, -63, -158, 51});
  OneNode dynamic = contrib("DynamicQuantizeMatMul").input({2, 2}, {-1, 2, 0.5, 0});
  dynamic.input({2, 3}, {1, -2, 3, 4, 5, -6}, INT8).floats({3}, {0.1f, 0.2f, 0.3f});
  dynamic.nothing().floats({3}, {1, 2, 3});
  expect(dynamic, {2, 3}, {1.7f, 4.4f, -1.5, 1.0494118f, 1.802353f, 3.444706f});
  OneNode vectors = contrib("MatMulIntegerToFloat").input({2}, {1, 2}, UINT8);
  expect(vectors.input({2}, {3, 4}, UINT8).input({}, {0.5}).input({}, {4}), {}, {22});
}

TEST_F(OnnxRuntimeTest, GemmsOfQuantizedTensorsSayWhatTheyExpect) {
  auto gemm = [](const OneNode::Shape &lhs, const OneNode::Shape &rhs) {
    OneNode one = contrib("QGemm");
    quantized(one, lhs, {}, 1, 0);
    return quantized(one, rhs, {}, 1, 0);
  };
  expectFails(gemm({2}, {2, 2}), {"expected rank 2, found operand 0"});
  expectFails(gemm({2, 2}, {2}), {"expected rank 2, found operand 3"});
  OneNode lhs = contrib("QGemm"), rhs = lhs;
  quantized(lhs, {2, 2}, {}, 1, 0, INT32);
  expectFails(quantized(lhs, {2, 2}, {}, 1, 0), {"expected integers of 8 or 16 bits as operand 0"});
  quantized(rhs, {2, 2}, {}, 1, 0);
  OneNode scales = rhs;
  expectFails(quantized(rhs, {2, 2}, {}, 1, 0, INT32),
              {"expected integers of 8 or 16 bits as operand 3"});
  expectFails(scales.input({2, 2}, {}, UINT8).input({3}).input({}, {}, UINT8),
              {"expected one number or 2 of them, found operand 4"});
  OneNode zeros = contrib("QGemm").input({2, 2}, {}, UINT8).input({}).input({3}, {}, UINT8);
  expectFails(quantized(zeros, {2, 2}, {}, 1, 0),
              {"expected one number or 2 of them, found operand 2"});
  expectFails(gemm({2, 2}, {2, 2}).input({3}, {}, INT32),
              {"expected one number or 2 of them, found operand 6"});
  expectFails(gemm({2, 2}, {2, 2}).nothing().input({}).input({}),
              {"expected integers of 8 or 16 bits as operand 8"});
  expectFails(gemm({2, 2}, {2, 2}).nothing().input({3}).input({}, {}, UINT8),
              {"expected one number or 2 of them, found operand 7"});
}

TEST_F(OnnxRuntimeTest, ProductsOfCodesSayWhatTheyExpect) {
  auto whole = [](const OneNode::Shape &rhs, int32_t lhsType = UINT8, int32_t rhsType = INT8) {
    return contrib("MatMulIntegerToFloat").input({2, 2}, {}, lhsType).input(rhs, {}, rhsType);
  };
  auto scaled = [&] { return whole({2, 3}).input({}).input({}); };
  expectFails(whole({2, 3}, FLOAT).input({}).input({}), {"expected an integer as operand 0"});
  expectFails(whole({2, 3}, UINT8, FLOAT).input({}).input({}),
              {"expected an integer as operand 1"});
  expectFails(whole({3, 3}).input({}).input({}), {"expected the last dim of lhs (2) to match"});
  expectFails(whole({2, 3}).input({}, {}, INT32).input({}), {"expected a float as operand 2"});
  expectFails(whole({2, 3}).input({}).input({}, {}, INT32), {"expected a float as operand 3"});
  expectFails(whole({2, 3}).input({}).input({4}),
              {"expected one number or 3 of them, found operand 3"});
  expectFails(scaled().input({}, {}, INT8),
              {"expected operands of one element type, found operand 0"});
  expectFails(scaled().nothing().nothing().input({3}, {}, DOUBLE),
              {"expected operands of one element type, found operand 2"});
  expectFails(scaled().nothing().nothing().input({2}),
              {"expected one number or 3 of them, found operand 6"});
}

TEST_F(OnnxRuntimeTest, DynamicProductsSayWhatTheyExpect) {
  auto dynamic = [](const OneNode::Shape &lhs, const OneNode::Shape &rhs, int32_t lhsType = FLOAT,
                    int32_t rhsType = INT8) {
    return contrib("DynamicQuantizeMatMul").input(lhs, {}, lhsType).input(rhs, {}, rhsType);
  };
  expectFails(dynamic({2, 2}, {2, 3}, INT32).input({}), {"expected a float as operand 0"});
  expectFails(dynamic({0, 2}, {2, 3}).input({}), {"expected elements, found operand 0"});
  expectFails(dynamic({2, 2}, {2, 3}, FLOAT, FLOAT).input({}),
              {"expected an integer as operand 1"});
  expectFails(dynamic({2, 2}, {3, 3}).input({}), {"expected the last dim of lhs (2) to match"});
  expectFails(dynamic({2, 2}, {2, 3}).input({}, {}, DOUBLE),
              {"expected operands of one element type, found operand 0"});
  expectFails(dynamic({2, 2}, {2, 3}).input({2}),
              {"expected one number or 3 of them, found operand 2"});
  expectFails(dynamic({2, 2}, {2, 3}).input({}).nothing().input({2}),
              {"expected one number or 3 of them, found operand 4"});
  expectFails(dynamic({2, 2}, {2, 3}).input({}).nothing().input({3}, {}, DOUBLE),
              {"expected operands of one element type, found operand 0"});
}

TEST_F(OnnxRuntimeTest, FusedMatMulTransposes) {
  OneNode one =
      contrib("FusedMatMul").input({2, 2}, {1, 2, 3, 4}).input({3, 2}, {1, 0, 2, 1, 3, 3});
  one.set("transA", int64_t(1)).set("transB", int64_t(1)).set("alpha", 0.5);
  expect(one, {2, 3}, {0.5, 2.5, 6, 1, 4, 9});
  expectFails(one.set("transBatchA", int64_t(1)), {"cannot take transBatchA and transBatchB"});
  expect(contrib("FusedMatMul").input({2}, {1, 2}).input({2}, {3, 4}).set("transA", int64_t(1)), {},
         {11});
  // A row becomes a column, and a column a row.
  OneNode outer = contrib("FusedMatMul").input({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  outer.input({2, 1, 1}, {10, 100}).set("transA", int64_t(1));
  expect(outer, {2, 3, 1}, {10, 20, 30, 400, 500, 600});
  OneNode inner = contrib("FusedMatMul").input({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  inner.input({2, 1, 3}, {1, 0, 2, 0, 1, 3}).set("transB", int64_t(1));
  expect(inner, {2, 1, 1}, {7, 23});
  expectFails(contrib("FusedMatMul").input({2, 3}).input({2, 2}),
              {"expected the last dim of lhs (3) to match"});
  expectFails(contrib("FusedMatMul").input({2, 2}, {}, INT32).input({2, 2}, {}, INT32),
              {"expected a float as operand 0"});
  expectFails(contrib("FusedMatMul").input({2, 2}).input({2, 2}, {}, DOUBLE),
              {"expected operands of one element type, found operand 0"});
}

// Floats ------------------------------------------------------------------------------------------

TEST_F(OnnxRuntimeTest, FormsOfGelu) {
  expect(contrib("Gelu").input({3}, {-1, 0, 2}), {3}, {-0.15865526f, 0, 1.9544997f});
  expect(contrib("QuickGelu").input({3}, {-1, 0, 2}), {3}, {-0.15420422f, 0, 1.9356587f});
  expect(contrib("FastGelu").input({3}, {-1, 0, 2}), {3}, {-0.15880796f, 0, 1.9545977f});
  expect(contrib("BiasGelu").input({1, 3}, {-1, 0, 2}).floats({3}, {1, 2, 3}), {1, 3},
         {0, 1.9544997f, 4.9999986f});
  expectFails(contrib("BiasGelu").input({1, 3}).input({2}),
              {"expected a bias along the last dim of operand 0"});
  expectFails(contrib("BiasGelu").input({2}).input({2}, {}, DOUBLE),
              {"expected operands of one element type, found operand 0"});
  for (StringRef op : {"Gelu", "QuickGelu", "FastGelu"})
    expectFails(contrib(op).input({2}, {}, INT32), {"expected a float as operand 0"});
}

TEST_F(OnnxRuntimeTest, NormalizesSums) {
  auto sum = [](StringRef op) {
    return contrib(op, 4)
        .input({1, 1, 4}, {1, 2, 6, 4})
        .input({1, 1, 4}, {0, 1, 0, 0})
        .floats({4}, {1, 2, 1, 1})
        .set("epsilon", 1e-5);
  };
  auto withoutStatistics = [](OneNode one) {
    for (int i : {1, 2})
      one.node().set_output(i, "");
    auto &outputs = *one.model.mutable_graph()->mutable_output();
    outputs.DeleteSubrange(1, 2);
    return one;
  };
  OneNode layer = withoutStatistics(
      sum("SkipLayerNormalization").floats({4}, {0, 0, 1, 0}).floats({4}, {1, 1, 1, 2}));
  expect(layer, {1, 1, 4}, {-1.4320761f, -0.7811324f, 2.1716986f, 0.6509437f});
  expect(layer, {1, 1, 4}, {2, 4, 7, 6}, 1);
  OneNode simple = withoutStatistics(sum("SkipSimplifiedLayerNormalization"));
  expect(simple, {1, 1, 4}, {0.2540002f, 1.5240011f, 1.5240011f, 1.0160007f});
  expect(simple, {1, 1, 4}, {1, 3, 6, 4}, 1);
  expect(OneNode("SimplifiedLayerNormalization", 17)
             .input({1, 1, 4}, {1, 2, 6, 4})
             .floats({4}, {1, 2, 1, 1}),
         {1, 1, 4}, {0.2649064f, 1.0596255f, 1.5894383f, 1.0596255f});
}

TEST_F(OnnxRuntimeTest, NormalizedSumsSayWhatTheyExpect) {
  for (StringRef op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}) {
    OneNode sum = contrib(op).input({1, 4}).input({4}), whole = contrib(op);
    expectFails(whole.input({1, 4}, {}, INT32).input({4}, {}, INT32).input({4}, {}, INT32),
                {"expected a float as operand 0"});
    expectFails(contrib(op).input({1, 4}).input({4}, {}, DOUBLE).input({4}),
                {"expected operands of one element type, found operand 0"});
    expectFails(contrib(op).input({1, 4}).input({3}).input({4}),
                {"expected a tensor that broadcasts to operand 0"});
    expectFails(OneNode(sum).input({4}).set("epsilon", -1.0), {"and an epsilon of at least 0"});
    expectFails(OneNode(sum).input({3}), {"expected 4 elements, as the last dim of operand 0"});
    expectFails(OneNode(sum).input({4}, {}, DOUBLE),
                {"expected operands of one element type, found operand 0"});
    // The bias of the sum, or of its normalized form.
    expectFails(OneNode(sum).input({4}).input({3}),
                {"expected 4 elements, as the last dim of operand 0"});
    expectFails(OneNode(sum).input({4}).input({4}, {}, DOUBLE),
                {"expected operands of one element type, found operand 0"});
  }
  OneNode before = contrib("SkipLayerNormalization").input({1, 4}).input({4}).input({4}).nothing();
  expectFails(OneNode(before).input({3}), {"expected 4 elements, as the last dim of operand 0"});
  expectFails(before.input({4}, {}, DOUBLE),
              {"expected operands of one element type, found operand 0"});
}

} // namespace
