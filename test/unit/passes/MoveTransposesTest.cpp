// Moved transposes as numbers: results stay the same, and fewer bytes are transposed.
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::grad;

namespace {

class MoveTransposes : public testing::Test {
protected:
  MoveTransposes() {
    DialectRegistry registry;
    registry.insert<GradDialect, func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  func::FuncOp function() { return *module->getOps<func::FuncOp>().begin(); }

  void run(std::unique_ptr<Pass> pass) {
    PassManager passes(&context);
    passes.addPass(std::move(pass));
    ASSERT_TRUE(succeeded(passes.run(*module)));
  }

  /// The function's results for fixed numbers in [-1, 1].
  std::vector<HostTensor> evaluate() {
    DenseMap<Value, HostTensor> values;
    int seed = 0;
    for (Value argument : function().getArguments()) {
      HostTensor tensor(cast<RankedTensorType>(argument.getType()));
      for (int64_t i = 0; i < tensor.size(); ++i)
        tensor.setFloat(i, std::sin(1.7 * i + 12.3 * seed + 0.5));
      values[argument] = tensor;
      ++seed;
    }
    for (Operation &op : function().front()) {
      SmallVector<HostTensor> operands;
      for (Value operand : op.getOperands())
        operands.push_back(values[operand]);
      if (isa<func::ReturnOp>(op))
        return {operands.begin(), operands.end()};
      for (auto [result, tensor] : llvm::zip_equal(op.getResults(), evaluateOp(&op, operands)))
        values[result] = tensor;
    }
    return {};
  }

  int64_t transposedElements() {
    int64_t elements = 0;
    function().walk([&](TransposeOp op) { elements += op.getType().getNumElements(); });
    return elements;
  }

  /// Runs the pass on a function, after differentiation, and expects `left` elements to be
  /// transposed.
  void expectSame(StringRef text, int64_t left) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    run(gradc::createDifferentiate());
    std::vector<HostTensor> before = evaluate();
    ASSERT_FALSE(before.empty());
    run(gradc::createMoveTransposes());
    ASSERT_TRUE(succeeded(mlir::verify(*module)));
    EXPECT_EQ(transposedElements(), left);
    for (auto [expected, found] : llvm::zip_equal(before, evaluate())) {
      ASSERT_EQ(found.getType(), expected.getType());
      for (int64_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(found.getFloat(i), expected.getFloat(i), 1e-12) << "at element " << i;
    }
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

// The image (once), the operand of the reshape, and its gradient remain.
TEST_F(MoveTransposes, ATrainedConvolution) {
  expectSame(R"(
func.func @f(%x: tensor<2x3x5x4xf64>, %w: tensor<3x3x3x6xf64>, %b: tensor<6xf64>, %v: tensor<2x3x2x6xf64>)
    -> (tensor<3x3x3x6xf64>, tensor<6xf64>, tensor<f64>) {
  %0 = grad.transpose %x permutation [2, 3, 0, 1] : tensor<2x3x5x4xf64>
  %1 = grad.convolution %0, %w dims "nc,co->no" window <[3, 3] low [1, 1] high [1, 1]> : tensor<5x4x2x3xf64>, tensor<3x3x3x6xf64>
  %2 = grad.transpose %1 permutation [2, 3, 0, 1] : tensor<5x4x2x6xf64>
  %3 = grad.broadcast %b dims [1] : tensor<6xf64> -> tensor<2x6x5x4xf64>
  %4 = grad.add %2, %3 : tensor<2x6x5x4xf64>
  %5:3 = grad.normalize %4 dims [0, 2, 3] epsilon 1.0e-3 : tensor<2x6x5x4xf64>
  %6 = grad.relu %5#0 : tensor<2x6x5x4xf64>
  %7 = grad.transpose %6 permutation [2, 3, 0, 1] : tensor<2x6x5x4xf64>
  %8, %index = grad.window_max %7 window <[2, 2] stride [2, 2] low [1, 0]> : tensor<5x4x2x6xf64>
  %9 = grad.transpose %8 permutation [2, 3, 0, 1] : tensor<3x2x2x6xf64>
  %10 = grad.tanh %9 : tensor<2x6x3x2xf64>
  %11 = grad.reshape %10 : tensor<2x6x3x2xf64> -> tensor<72xf64>
  %12 = grad.reshape %v : tensor<2x3x2x6xf64> -> tensor<72xf64>
  %13 = grad.mul %11, %12 : tensor<72xf64>
  %14 = grad.reduce_sum %13 dims [0] : tensor<72xf64>
  %g:2 = grad.gradient %14 wrt %w, %b : tensor<f64>, tensor<3x3x3x6xf64>, tensor<6xf64>
  return %g#0, %g#1, %14 : tensor<3x3x3x6xf64>, tensor<6xf64>, tensor<f64>
})",
             2 * 3 * 5 * 4 + 72 + 72);
}

// A permutation that is not its own inverse, and a reduction whose dims come in another order. What
// remains: its result and that of the softmax.
TEST_F(MoveTransposes, ReductionsAndCycles) {
  expectSame(R"(
func.func @f(%x: tensor<2x3x4x5xf64>, %s: tensor<3x5xf64>) -> (tensor<4x3xf64>, tensor<2x4xf64>, tensor<4x2x3x5xf64>) {
  %0 = grad.transpose %x permutation [2, 0, 3, 1] : tensor<2x3x4x5xf64>
  %1 = grad.exp %0 : tensor<4x2x5x3xf64>
  %2 = grad.transpose %s permutation [1, 0] : tensor<3x5xf64>
  %3 = grad.broadcast %2 dims [2, 3] : tensor<5x3xf64> -> tensor<4x2x5x3xf64>
  %4 = grad.mul %1, %3 : tensor<4x2x5x3xf64>
  %5 = grad.reduce_sum %4 dims [1, 2] : tensor<4x2x5x3xf64>
  %6 = grad.reduce_max %4 dims [2, 3] : tensor<4x2x5x3xf64>
  %7 = grad.transpose %6 permutation [1, 0] : tensor<4x2xf64>
  %8 = grad.softmax %4 dim 3 : tensor<4x2x5x3xf64>
  %9 = grad.transpose %8 permutation [0, 1, 3, 2] : tensor<4x2x5x3xf64>
  return %5, %7, %9 : tensor<4x3xf64>, tensor<2x4xf64>, tensor<4x2x3x5xf64>
})",
             2 * 3 * 4 * 5 + 4 * 3);
}

// Values next to their own transposes, in both orders.
TEST_F(MoveTransposes, ValuesBesideTheirTransposes) {
  expectSame(R"(
func.func @f(%x: tensor<3x3x3xf64>) -> tensor<3x3x3xf64> {
  %0 = grad.sin %x : tensor<3x3x3xf64>
  %1 = grad.transpose %0 permutation [1, 2, 0] : tensor<3x3x3xf64>
  %2 = grad.mul %0, %1 : tensor<3x3x3xf64>
  %3 = grad.transpose %2 permutation [2, 0, 1] : tensor<3x3x3xf64>
  %4 = grad.sub %3, %0 : tensor<3x3x3xf64>
  %5 = grad.concatenate %4, %1 dim 1 : tensor<3x3x3xf64>, tensor<3x3x3xf64>
  %6 = grad.slice %5 starts [0, 1, 2] sizes [3, 3, 3] strides [1, 2, -1] : tensor<3x6x3xf64>
  return %6 : tensor<3x3x3xf64>
})",
             2 * 27);
}

} // namespace
