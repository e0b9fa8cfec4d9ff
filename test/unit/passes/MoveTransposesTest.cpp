// Moved transposes as numbers: results stay the same, and fewer bytes are transposed.
#include "passes/Passes.h"
#include "test/unit/passes/PassTesting.h"

using namespace mlir;
using namespace mlir::grad;

namespace {

class MoveTransposes : public gradc::PassTesting {
protected:
  int64_t transposedElements() {
    int64_t elements = 0;
    function().walk([&](TransposeOp op) { elements += op.getType().getNumElements(); });
    return elements;
  }

  /// Runs the pass on a function, after differentiation, and expects `left` elements to be
  /// transposed.
  void expectSame(StringRef text, int64_t left) {
    ASSERT_NO_FATAL_FAILURE(parse(text));
    ASSERT_NO_FATAL_FAILURE(run(gradc::createDifferentiate()));
    ASSERT_NO_FATAL_FAILURE(expectSameAfter(gradc::createMoveTransposes(), 1e-12));
    EXPECT_EQ(transposedElements(), left);
  }
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
