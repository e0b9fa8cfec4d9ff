// Simplified functions as numbers: the same bits, for NaN, infinities and signed zeros as well.
#include "compiler/Interpreter.h"
#include "passes/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::grad;

namespace {

/// Evaluates a function before and after the pass, on arguments with special values, and expects
/// the same bits. Returns the simplified text.
std::string expectSameBits(StringRef text) {
  DialectRegistry registry;
  registry.insert<GradDialect, func::FuncDialect>();
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "unreadable";
    return {};
  }
  auto function = *module->getOps<func::FuncOp>().begin();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double special[] = {NAN, -infinity, infinity, -0.0, 0.0, -1.0, 2.0, 2.0, -3.0, 0.5, 1e-40};
  std::vector<HostTensor> arguments;
  for (Type type : function.getArgumentTypes()) {
    HostTensor &tensor = arguments.emplace_back(cast<RankedTensorType>(type));
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.setFloat(i, special[(7 * i + 3 * i / 11 + 5 * arguments.size()) % std::size(special)]);
  }
  auto before = gradc::Interpreter(*module).run(function, arguments);
  PassManager passes(&context);
  passes.addPass(gradc::createSimplifyAlgebra());
  EXPECT_TRUE(succeeded(passes.run(*module)));
  auto after = gradc::Interpreter(*module).run(function, arguments);
  for (auto [expected, found] : llvm::zip_equal(before, after)) {
    EXPECT_EQ(found.getType(), expected.getType());
    EXPECT_EQ(found.bytes(), expected.bytes());
  }
  std::string simplified;
  llvm::raw_string_ostream(simplified) << *module;
  return simplified;
}

/// Windows apart, overlapping, padded, wholly in the padding, and dilated; a ReLU's mask, and masks
/// that hold for NaN or in the padding.
TEST(SimplifyAlgebra, MasksOfMaxima) {
  const std::pair<const char *, const char *> windows[] = {
      {"<[2, 2] stride [2, 2]>", "4x4x3"},
      {"<[3, 3]>", "6x6x3"},
      {"<[3, 3] stride [2, 2] low [1, 1] high [1, 1]>", "4x4x3"},
      {"<[2, 2] stride [2, 2] low [2, 3] high [3, 2]>", "6x6x3"},
      {"<[2, 2] dilation [2, 3]>", "6x5x3"}};
  for (auto [window, shape] : windows)
    for (const char *predicate : {"gt", "ne", "le"}) {
      SCOPED_TRACE(std::string(window) + " " + predicate);
      std::string simplified = expectSameBits(llvm::formatv(R"(
func.func @f(%x: tensor<8x8x3xf32>, %g: tensor<{1}xf32>) -> tensor<8x8x3xf32> {{
  %zero = grad.constant dense<0.0> : tensor<8x8x3xf32>
  %max, %tap = grad.window_max %x window {0} : tensor<8x8x3xf32>
  %back = grad.window_scatter %g, %tap size [8, 8] window {0} : tensor<{1}xf32>, tensor<{1}xi8>
  %mask = grad.compare {2} %x, %zero : tensor<8x8x3xf32>
  %0 = grad.select %mask, %back, %zero : tensor<8x8x3xf32>
  return %0 : tensor<8x8x3xf32>
})",
                                                            window, shape, predicate)
                                                  .str());
      EXPECT_LT(simplified.find("grad.select"), simplified.find("grad.window_scatter"));
    }
}

/// Counts that the element type rounds, or that exceed it. -0.0 becomes 0.0 first, as sums begin.
TEST(SimplifyAlgebra, SumsOfRepeatedShortFloats) {
  for (auto [element, count] : {std::pair("f16", 70000), {"f16", 2049}, {"bf16", 257}}) {
    SCOPED_TRACE(std::string(element) + " " + std::to_string(count));
    std::string simplified = expectSameBits(llvm::formatv(R"(
func.func @f(%x: tensor<11x{0}>) -> tensor<11x{0}> {{
  %zero = grad.constant dense<0.0> : tensor<11x{0}>
  %0 = grad.add %x, %zero : tensor<11x{0}>
  %1 = grad.broadcast %0 dims [1] : tensor<11x{0}> -> tensor<{1}x11x{0}>
  %2 = grad.reduce_sum %1 dims [0] : tensor<{1}x11x{0}>
  return %2 : tensor<11x{0}>
})",
                                                          element, count)
                                                .str());
    EXPECT_EQ(simplified.find("grad.reduce_sum"), std::string::npos) << simplified;
  }
}

} // namespace
