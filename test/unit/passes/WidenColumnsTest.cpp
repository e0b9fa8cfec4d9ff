// Convolutions with more columns as numbers: the same results, without what was narrow.
#include "passes/Passes.h"
#include "test/unit/passes/PassTesting.h"

using namespace mlir;
using namespace mlir::grad;

namespace {

class WidenColumns : public gradc::PassTesting {
protected:
  /// Runs the pass on one convolution, and expects another one of these types in its place.
  void expectSame(const Twine &lhs, const Twine &rhs, const Twine &dims, const Twine &window,
                  const Twine &result, StringRef newLhs, StringRef newRhs) {
    std::string factors = ("tensor<" + lhs + "xf32>, tensor<" + rhs + "xf32>").str();
    std::string type = ("tensor<" + result + "xf32>").str();
    std::string text =
        ("func.func @f(%x: tensor<" + lhs + "xf32>, %w: tensor<" + rhs + "xf32>) -> " + type +
         " {\n  %0 = grad.convolution %x, %w dims \"" + dims + "\" window <" + window +
         "> : " + factors + "\n  return %0 : " + type + "\n}\n")
            .str();
    SCOPED_TRACE(text);
    ASSERT_NO_FATAL_FAILURE(parse(text));
    ASSERT_NO_FATAL_FAILURE(expectSameAfter(gradc::createWidenColumns(), 1e-4));
    EXPECT_EQ(typesOfConvolution(),
              ("tensor<" + newLhs + "xf32> tensor<" + newRhs + "xf32>").str());
  }

  std::string typesOfConvolution() {
    std::string types;
    llvm::raw_string_ostream os(types);
    function().walk(
        [&](ConvolutionOp op) { os << op.getLhs().getType() << " " << op.getRhs().getType(); });
    return types;
  }
};

TEST_F(WidenColumns, BlocksOfTaps) {
  expectSame("512x4x16", "9x16x1", "nc,co->no", "[9] low [4] high [4]", "512x4x1", "512x4x16",
             "1x16x9");
  // Filters keep their place in front of channels and pictures.
  expectSame("24x24x4x16", "3x7x2x16", "nc,oc->on", "[3, 7] low [1, 2] high [1, 3]", "24x23x2x4",
             "24x24x4x16", "3x1x14x16");
  // The last block has a tap less.
  expectSame("600x4x16", "11x16x3", "nc,co->no", "[11] low [10] high [10] dilation [2]", "600x4x3",
             "600x4x16", "3x16x12");
}

TEST_F(WidenColumns, BlocksOfReversedTaps) {
  expectSame("24x24x4x16", "7x5x1x16", "no,co->nc", "[7, 5] low [6, 4] high [6, 4] reversed",
             "30x28x4x1", "24x24x4x16", "1x3x14x16");
  expectSame("24x24x4x32", "4x4x1x32", "no,co->nc",
             "[4, 4] low [2, 2] high [2, 2] base [2, 2] reversed", "48x48x4x1", "24x24x4x32",
             "2x2x4x32");
}

TEST_F(WidenColumns, TapsOverOneElement) {
  expectSame("64x1x8x32", "3x24x1x32", "no,co->nc", "[3, 24] low [2, 23] high [2, 23] reversed",
             "66x24x8x1", "64x8x32", "3x24x32");
  expectSame("1x512x64", "20x1x64", "no,co->nc", "[20] low [17] high [17]", "16x512x1", "512x64",
             "16x64");
  // Two columns, in front of pictures, and a window that reads the first taps only.
  expectSame("1x64x64x16", "16x1x16x2", "nc,co->on", "[16, 1] low [9, 0] high [15, 0] reversed",
             "10x64x2x64", "64x64x16", "1x16x20");
}

TEST_F(WidenColumns, ChannelsOfDepthwiseConvolutions) {
  auto twice = [](const Twine &lhs, const Twine &rhs) {
    return (rhs + "xf32>tensor<" + lhs + "xf32> tensor<" + rhs).str();
  };
  expectSame("48x48x4x2", "7x7x2", "nc,c->nc", "[7, 7] low [3, 3] high [3, 3]", "48x48x4x2",
             "48x48x4x1", twice("48x48x4x1", "7x1x1x7"));
  // Channels in front of pictures, of the result or of the pictures that are read.
  expectSame("48x48x4x2", "7x7x2", "nc,c->cn", "[7, 7] low [3, 3] high [3, 3]", "48x48x2x4",
             "48x48x4x1", twice("48x48x4x1", "7x1x1x7"));
  expectSame("40x44x2x4", "11x5x2", "cn,c->nc", "[11, 5] low [4, 2] high [6, 2] reversed",
             "40x44x4x2", "40x44x1x4", twice("40x44x1x4", "11x1x1x5"));
}

TEST_F(WidenColumns, ExchangedFactors) {
  expectSame("24x26x4x32", "22x23x4x1", "nc,no->co", "[22, 23] low [2, 1] high [2, 0]", "7x5x32x1",
             "22x23x4x1", "24x26x4x32");
  expectSame("300x8x32", "290x8x2", "nc,no->oc", "[290] low [3] high [-2]", "12x2x32", "290x8x2",
             "300x8x32");
}

} // namespace
