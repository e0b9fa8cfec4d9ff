// Products that ONNX Runtime has fused with what follows them. Expected numbers are those of ONNX
// Runtime 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;

namespace {

enum { FLOAT = 1, INT32 = 6, DOUBLE = 11 };

class FusedProductsTest : public OneNodeTest {
protected:
  static constexpr float x[] = {-4, -1, -0.25, 0, 0.5, 1, 3, 8};

  /// A convolution or product that multiplies x by 1.
  static OneNode conv() {
    return contrib("FusedConv").input({1, 1, 2, 4}, Floats(x, x + 8)).floats({1, 1, 1, 1}, {1});
  }
  static OneNode conv(const char *activation, ArrayRef<float> parameters = {}) {
    OneNode one = conv().set("activation", activation);
    NodeBuilder(one.node()).set("activation_params", parameters);
    return one;
  }
  static OneNode gemm(const char *activation) {
    return contrib("FusedGemm")
        .input({8, 1}, Floats(x, x + 8))
        .floats({1, 1}, {1})
        .set("activation", activation);
  }
};

TEST_F(FusedProductsTest, ConvolutionsHaveActivations) {
  const OneNode::Shape shape{1, 1, 2, 4};
  expect(conv(), shape, Floats(x, x + 8));
  expect(conv("Relu"), shape, {0, 0, 0, 0, 0.5, 1, 3, 8});
  expect(conv("Tanh"), shape,
         {-0.9993293f, -0.7615942f, -0.2449187f, 0, 0.4621172f, 0.7615942f, 0.9950547f, 1});
  expect(conv("Sigmoid"), shape,
         {0.0179862f, 0.2689414f, 0.4378235f, 0.5, 0.6224593f, 0.7310586f, 0.9525741f, 0.9996645f});
  expect(conv("LeakyRelu", {0.5}), shape, {-2, -0.5, -0.125, 0, 0.5, 1, 3, 8});
  expect(conv("Clip", {-1, 2}), shape, {-1, -1, -0.25, 0, 0.5, 1, 2, 2});
  expect(conv("HardSigmoid", {0.25, 0.5}), shape, {0, 0.25, 0.4375, 0.5, 0.625, 0.75, 1, 1});
  expect(conv("HardSwish"), shape, {0, -0.3333333f, -0.1145833f, 0, 0.2916667f, 0.6666667f, 3, 8});
}

TEST_F(FusedProductsTest, ConvolutionsAddATensorBeforeTheActivation) {
  OneNode one = contrib("FusedConv").input({1, 1, 1, 3}, {1, 2, -9}).floats({1, 1, 1, 1}, {2});
  one.set("activation", "Relu");
  OneNode withoutBias = one;
  expect(one.floats({1}, {1}).input({1, 1, 1, 3}, {10, -20, 5}), {1, 1, 1, 3}, {13, 0, 0});
  expect(withoutBias.nothing().input({1, 1, 1, 3}, {10, -20, 5}), {1, 1, 1, 3}, {12, 0, 0});
}

TEST_F(FusedProductsTest, ConvolutionsSayWhatTheyExpect) {
  expectFails(conv("Sign"), {"has no activation function \"Sign\""});
  expectFails(conv("Clip", {1}), {"expected 2 activation_params of Clip, found 1"});
  expectFails(conv().set("activation", "LeakyRelu"),
              {"expected 1 activation_params of LeakyRelu, found 0"});
  expectFails(conv().nothing().input({1, 1, 1, 1}),
              {"expected an addend [1, 1, 2, 4], found operand 3"});
  expectFails(conv().nothing().input({1, 1, 2, 4}, {}, DOUBLE),
              {"expected operands of one element type, found operand 0"});
}

TEST_F(FusedProductsTest, LayoutsOfOneMachineAreRefusedWithAReason) {
  OneNode one = OneNode("Conv", 17).in("com.microsoft.nchwc").input({1, 8, 2, 2});
  expectFails(one.input({8, 8, 1, 1}),
              {"com.microsoft.nchwc::Conv is in the layout of one machine: save the model at "
               "ORT_ENABLE_EXTENDED, not ORT_ENABLE_ALL"});
}

TEST_F(FusedProductsTest, GemmsHaveActivations) {
  const OneNode::Shape shape{8, 1};
  expect(gemm("Relu"), shape, {0, 0, 0, 0, 0.5, 1, 3, 8});
  expect(gemm("LeakyRelu").set("activation_alpha", 0.5), shape,
         {-2, -0.5, -0.125, 0, 0.5, 1, 3, 8});
  expect(gemm("Elu").set("activation_alpha", 2.0), shape,
         {-1.9633688f, -1.2642411f, -0.4423984f, 0, 0.5, 1, 3, 8});
  expect(gemm("Celu").set("activation_alpha", 2.0), shape,
         {-1.7293295f, -0.7869387f, -0.2350062f, 0, 0.5, 1, 3, 8});
  expect(gemm("Selu").set("activation_alpha", 1.5).set("activation_gamma", 2.0), shape,
         {-2.9450531f, -1.8963616f, -0.6635976f, 0, 1, 2, 6, 16});
  expect(gemm("HardSigmoid").set("activation_alpha", 0.25).set("activation_beta", 0.5), shape,
         {0, 0.25, 0.4375, 0.5, 0.625, 0.75, 1, 1});
  expect(gemm("Softsign"), shape, {-0.8f, -0.5, -0.2f, 0, 0.3333333f, 0.5, 0.75, 0.8888889f});
  expect(gemm("ThresholdedRelu").set("activation_alpha", 0.75), shape, {0, 0, 0, 0, 0, 1, 3, 8});
}

TEST_F(FusedProductsTest, GemmsScaleBeforeTheActivation) {
  OneNode one = contrib("FusedGemm").input({2, 2}, {1, -2, 3, 4}).floats({2, 2}, {1, 0, -1, 2});
  one.floats({2}, {1, 2}).set("activation", "Relu").set("transB", int64_t(1));
  one.set("alpha", 2.0).set("beta", -1.0);
  expect(one, {2, 2}, {1, 0, 5, 8});
}

TEST_F(FusedProductsTest, GemmsSayWhatTheyExpect) {
  expectFails(gemm("Gelu"), {"has no activation function \"Gelu\""});
  expectFails(contrib("FusedGemm").input({1, 1}).input({1, 1}),
              {"has no activation function \"\""});
  expectFails(contrib("FusedGemm").input({1, 1}, {}, INT32).input({1, 1}, {}, INT32),
              {"expected a float as operand 0"});
}

} // namespace
