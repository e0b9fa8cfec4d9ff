// ONNX Runtime's operators with channels last, which its optimizer makes of quantized models.
// Expected numbers are those of ONNX Runtime 1.32.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

namespace {

using ChannelsLastTest = OneNodeTest;

TEST_F(ChannelsLastTest, QuantizedConvolution) {
  OneNode one = contrib("QLinearConv").input({1, 2, 3, 2}, codesOf(12, 41), UINT8);
  one.input({}, {0.5}).input({}, {100}, UINT8);
  one.input({2, 2, 2, 2}, codesOf(16, 53, /*isSigned=*/true), INT8)
      .input({2}, {0.25, 0.125})
      .input({2}, {0, 0}, INT8);
  one.input({}, {16}).input({}, {120}, UINT8).input({2}, {100, -200}, INT32);
  one.set("channels_last", int64_t(1)).set("pads", {1, 0, 0, 0});
  expect(one, {1, 2, 2, 2}, {44, 116, 163, 144, 255, 131, 174, 117});
}

TEST_F(ChannelsLastTest, Pools) {
  OneNode max = contrib("NhwcMaxPool").input({1, 3, 3, 2}, codesOf(18, 41), UINT8);
  expect(max.set("kernel_shape", {2, 2}), {1, 2, 2, 2}, {246, 123, 164, 205, 246, 113, 154, 195});
  OneNode average = contrib("QLinearAveragePool").input({1, 3, 3, 2}, {}, UINT8);
  average.input({}, {1}).input({}, {2}, UINT8).input({}, {0.5}).input({}, {1}, UINT8);
  average.set("kernel_shape", {2, 2}).set("pads", {1, 1, 0, 0}).set("channels_last", int64_t(1));
  expect(average, {1, 3, 3, 2}, {0, 0, 0, 1, 3, 5, 3, 5, 5, 7, 9, 11, 15, 17, 17, 19, 21, 23});
  OneNode all = contrib("QLinearGlobalAveragePool").input({1, 2, 2, 2}, {}, UINT8);
  all.input({}, {1}).input({}, {2}, UINT8).input({}, {0.5}).input({}, {1}, UINT8);
  expect(all.set("channels_last", int64_t(1)), {1, 1, 1, 2}, {3, 5});
}

TEST_F(ChannelsLastTest, PicturesHaveRank3OrMore) {
  expectFails(contrib("NhwcMaxPool").input({2, 2}, {}, UINT8).set("kernel_shape", {1, 1}),
              {"expected rank 3 or more, found operand 0"});
}

} // namespace
