// Which entries keep their rows independent: the results for a row must not depend on other rows.
#include "passes/entry/Coupling.h"

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

  /// Analyzes a body over %x: tensor<8x4xf32>, which holds 8 rows, and %w, which has no batch dim.
  /// The last `checks` ops are checks. `returned`: "%0 : TYPE", or nothing.
  gradc::RowDependence dependenceIn(StringRef body, unsigned checks = 0, StringRef returned = "") {
    StringRef type = returned.split(" : ").second;
    std::string text = ("func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>) -> (" + type +
                        ") {\n" + body + "\nreturn " + returned + "\n}\n")
                           .str();
    module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    SmallVector<Value> values;
    for (Operation &op : llvm::reverse(function.front().without_terminator()))
      if (values.size() < checks)
        values.push_back(op.getResult(0));
    return gradc::findDependence(
        function.front(), 8, [](BlockArgument argument) { return argument.getArgNumber() == 0; },
        values);
  }
  /// The name of the op that couples the rows.
  std::string couplingIn(StringRef body, StringRef returned = "") {
    Operation *op = dependenceIn(body, /*checks=*/0, returned).coupling;
    return op ? op->getName().getStringRef().str() : "";
  }
  bool numbersIn(StringRef body) {
    EXPECT_EQ(couplingIn(body), "");
    return dependenceIn(body).onNumber;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(Coupling, RowsStayApart) {
  EXPECT_EQ(couplingIn("%0 = grad.tanh %x : tensor<8x4xf32>"), "");
  EXPECT_EQ(couplingIn("%0 = grad.matmul %x, %w : tensor<8x4xf32>, tensor<4x8xf32>"), "");
  EXPECT_EQ(couplingIn("%0 = grad.reduce_sum %x dims [1] : tensor<8x4xf32>"), "");
  EXPECT_EQ(couplingIn("%0 = grad.reshape %x : tensor<8x4xf32> -> tensor<32xf32>"), "");
  // A sum over values shared by all rows.
  EXPECT_EQ(couplingIn("%0 = grad.reduce_sum %w dims [1] : tensor<4x8xf32>"), "");
}

/// Calls of other rows take the first ones of each result.
TEST_F(Coupling, RowsAreTheOutermostDimOfResults) {
  std::string turned = "%0 = grad.transpose %x permutation [1, 0] : tensor<8x4xf32>\n";
  EXPECT_EQ(couplingIn(turned, "%0 : tensor<4x8xf32>"), "grad.transpose");
  EXPECT_EQ(couplingIn(turned + "%1 = grad.reshape %0 : tensor<4x8xf32> -> tensor<32xf32>",
                       "%1 : tensor<32xf32>"),
            "grad.reshape");
  EXPECT_EQ(couplingIn("%0 = grad.reshape %x : tensor<8x4xf32> -> tensor<1x32xf32>",
                       "%0 : tensor<1x32xf32>"),
            "");
  EXPECT_EQ(couplingIn("%0 = grad.reduce_sum %x dims [1] : tensor<8x4xf32>", "%0 : tensor<8xf32>"),
            "");
  EXPECT_EQ(couplingIn("%0 = grad.tanh %w : tensor<4x8xf32>", "%0 : tensor<4x8xf32>"), "");
}

TEST_F(Coupling, RowsMayBeInsideADim) {
  std::string steps = "%s = grad.transpose %x permutation [1, 0] : tensor<8x4xf32>\n";
  std::string joined = steps + "%j = grad.reshape %s : tensor<4x8xf32> -> tensor<32x1xf32>\n"
                               "%p = grad.tanh %j : tensor<32x1xf32>\n";
  EXPECT_EQ(couplingIn(joined + "%0 = grad.reshape %p : tensor<32x1xf32> -> tensor<4x8xf32>\n"
                                "%1 = grad.reduce_sum %0 dims [0] : tensor<4x8xf32>"),
            "");
  EXPECT_EQ(couplingIn(joined + "%0 = grad.reshape %p : tensor<32x1xf32> -> tensor<2x16xf32>\n"
                                "%1 = grad.reshape %0 : tensor<2x16xf32> -> tensor<2x2x8xf32>\n"
                                "%2 = grad.reduce_sum %1 dims [0, 1] : tensor<2x2x8xf32>"),
            "");
  EXPECT_EQ(couplingIn(joined + "%0 = grad.reduce_sum %p dims [0] : tensor<32x1xf32>"),
            "grad.reduce_sum");
  EXPECT_EQ(couplingIn(joined + "%0 = grad.reshape %p : tensor<32x1xf32> -> tensor<4x8xf32>\n"
                                "%1 = grad.reduce_sum %0 dims [1] : tensor<4x8xf32>"),
            "grad.reduce_sum");
  EXPECT_EQ(couplingIn(joined + "%0 = grad.reshape %p : tensor<32x1xf32> -> tensor<8x4xf32>"),
            "grad.reshape");
  // The same dim holds rows in another order.
  EXPECT_EQ(couplingIn(joined + "%0 = grad.reshape %x : tensor<8x4xf32> -> tensor<32x1xf32>\n"
                                "%1 = grad.add %0, %p : tensor<32x1xf32>"),
            "grad.add");
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
  EXPECT_EQ(couplingIn("%0 = grad.count %x dims [1] : tensor<8x4xf32>"), "");
  EXPECT_EQ(
      couplingIn("%0 = grad.slice %x starts [1, 0] sizes [7, 4] strides [1, 1] : tensor<8x4xf32>"),
      "grad.slice");
}

TEST_F(Coupling, ChecksMayReadAllRows) {
  const char *largest = "%0 = grad.tanh %x : tensor<8x4xf32>\n"
                        "%1 = grad.reduce_max %x dims [0, 1] : tensor<8x4xf32>";
  EXPECT_TRUE(dependenceIn(largest).coupling);
  EXPECT_FALSE(dependenceIn(largest, /*checks=*/1).coupling);
}

TEST_F(Coupling, RowsMayBeNumbered) {
  auto added = [](StringRef iota) {
    return (iota + "\n%1 = grad.add %x, %0 : tensor<8x4xf32>").str();
  };
  EXPECT_FALSE(numbersIn("%0 = grad.iota dim 0 : tensor<8x4xf32>")); // with no row
  EXPECT_TRUE(numbersIn(added("%0 = grad.iota dim 0 : tensor<8x4xf32>")));
  EXPECT_FALSE(numbersIn(added("%0 = grad.iota dim 1 : tensor<8x4xf32>")));
  EXPECT_TRUE(
      numbersIn(added("%i = grad.iota dim 0 : tensor<8xf32>\n"
                      "%0 = grad.broadcast %i dims [0] : tensor<8xf32> -> tensor<8x4xf32>")));
  EXPECT_TRUE(
      numbersIn(added("%i = grad.iota dim 0 : tensor<8x1xf32>\n"
                      "%j = grad.reshape %i : tensor<8x1xf32> -> tensor<8xf32>\n"
                      "%0 = grad.broadcast %j dims [0] : tensor<8xf32> -> tensor<8x4xf32>")));
  // Backwards.
  EXPECT_TRUE(numbersIn(
      added("%i = grad.iota dim 0 : tensor<8x4xf32>\n"
            "%0 = grad.slice %i starts [7, 0] sizes [8, 4] strides [-1, 1] : tensor<8x4xf32>")));
  // Numbers along another dim of the same size.
  EXPECT_FALSE(numbersIn("%i = grad.iota dim 1 : tensor<4x8xf32>\n"
                         "%0 = grad.add %w, %i : tensor<4x8xf32>\n"
                         "%1 = grad.matmul %x, %0 : tensor<8x4xf32>, tensor<4x8xf32>"));
}

// A dim that has as many elements as rows in every run is one of rows, or repeats for each of them.
TEST_F(Coupling, DimsSizedByTheRows) {
  std::string pairs = "%0 = grad.count %x dims [0] {grad.sizes = array<i64: 0>} : tensor<8x4xf32>\n"
                      "%1 = grad.broadcast %x dims [1, 2] : tensor<8x4xf32> -> tensor<8x8x4xf32>\n"
                      "%2 = grad.count %1 dims [0] {grad.read_by = \"expand\", grad.sized_by = 0 : "
                      "i64} : tensor<8x8x4xf32>\n";
  EXPECT_EQ(couplingIn(pairs), "");
  EXPECT_EQ(couplingIn(pairs + "%3 = grad.reduce_sum %1 dims [0] : tensor<8x8x4xf32>"),
            "grad.reduce_sum");
  EXPECT_EQ(
      couplingIn("%0 = grad.count %x dims [0] {grad.sizes = array<i64: 0>} : tensor<8x4xf32>\n"
                 "%1 = grad.count %w dims [1] {grad.read_by = \"cut\", grad.sized_by = 0 : "
                 "i64} : tensor<4x8xf32>"),
      "grad.count");
}

} // namespace
