// Which entries keep their rows independent: the results for a row must not depend on other rows.
#include "passes/support/Coupling.h"

#include "dialects/grad/Grad.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::grad;

namespace {

class Coupling : public testing::Test {
protected:
  Coupling() {
    DialectRegistry registry;
    registry.insert<GradDialect, func::FuncDialect, linalg::LinalgDialect, tensor::TensorDialect,
                    arith::ArithDialect, math::MathDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The name of the op that couples the 8 rows of %x: tensor<8x4xf32>; %w has no batch dim.
  std::string couplingIn(StringRef body) {
    std::string text =
        ("func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>) {\n" + body + "\nreturn\n}\n")
            .str();
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return "does not parse";
    auto function = *module->getOps<func::FuncOp>().begin();
    Operation *op = gradc::findCoupling(
        function.front(), 8, [](BlockArgument argument) { return argument.getArgNumber() == 0; });
    return op ? op->getName().getStringRef().str() : "";
  }

  MLIRContext context;
};

TEST_F(Coupling, RowsStayApart) {
  EXPECT_EQ(couplingIn("%0 = grad.tanh %x : tensor<8x4xf32>"), "");
  EXPECT_EQ(couplingIn("%0 = grad.matmul %x, %w : tensor<8x4xf32>, tensor<4x8xf32>"), "");
  EXPECT_EQ(couplingIn("%0 = grad.reduce_sum %x dims [1] : tensor<8x4xf32>"), "");
  EXPECT_EQ(couplingIn("%0 = grad.reshape %x : tensor<8x4xf32> -> tensor<32xf32>"), "");
  // A sum over values shared by all rows.
  EXPECT_EQ(couplingIn("%0 = grad.reduce_sum %w dims [1] : tensor<4x8xf32>"), "");
}

TEST_F(Coupling, IsFoundWhereverRowsMeet) {
  EXPECT_EQ(couplingIn("%0 = grad.reduce_sum %x dims [0] : tensor<8x4xf32>"), "grad.reduce_sum");
  EXPECT_EQ(couplingIn("%0 = grad.reshape %x : tensor<8x4xf32> -> tensor<32xf32>\n"
                       "%1 = grad.reduce_max %0 dims [0] : tensor<32xf32>"),
            "grad.reduce_max");
  // Rows times rows: there is no sum over rows, but each result depends on all of them.
  EXPECT_EQ(couplingIn("%0 = grad.matmul %x, %x transpose_rhs : tensor<8x4xf32>, tensor<8x4xf32>"),
            "grad.matmul");
  EXPECT_EQ(couplingIn("%0 = grad.count %x dims [0] : tensor<8x4xf32>"), "grad.count");
  EXPECT_EQ(
      couplingIn("%0 = grad.slice %x starts [1, 0] sizes [7, 4] strides [1, 1] : tensor<8x4xf32>"),
      "grad.slice");
}

} // namespace
