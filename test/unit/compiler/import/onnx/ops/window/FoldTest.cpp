// Col2Im, compared with its definition: every tap of every window is added to its pixel.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

using Shape = OneNode::Shape;

/// One Col2Im with two spatial dims and 2 samples of 3 channels.
struct Fold {
  Shape picture, kernel, strides{1, 1}, dilations{1, 1}, pads{0, 0, 0, 0};

  int64_t positions(int d) const {
    int64_t extent = (kernel[d] - 1) * dilations[d] + 1;
    return (picture[d] + pads[d] + pads[d + 2] - extent) / strides[d] + 1;
  }
  Shape operandShape() const { return {2, 3 * kernel[0] * kernel[1], positions(0) * positions(1)}; }
  Shape resultShape() const { return {2, 3, picture[0], picture[1]}; }

  OneNode node(const Floats &x) const {
    return OneNode("Col2Im", 18)
        .input(operandShape(), x)
        .ints(picture)
        .ints(kernel)
        .set("strides", strides)
        .set("dilations", dilations)
        .set("pads", pads);
  }
  Floats expected(const Floats &x) const {
    Floats result(2 * 3 * picture[0] * picture[1]);
    int64_t from = 0;
    for (int64_t image = 0; image < 6; ++image)
      for (int64_t i = 0; i < kernel[0]; ++i)
        for (int64_t j = 0; j < kernel[1]; ++j)
          for (int64_t v = 0; v < positions(0); ++v)
            for (int64_t h = 0; h < positions(1); ++h, ++from) {
              int64_t row = v * strides[0] + i * dilations[0] - pads[0];
              int64_t column = h * strides[1] + j * dilations[1] - pads[1];
              if (row >= 0 && row < picture[0] && column >= 0 && column < picture[1])
                result[(image * picture[0] + row) * picture[1] + column] += x[from];
            }
    return result;
  }
};

class FoldTest : public OneNodeTest {
protected:
  OneNode withNumbers(const Fold &fold) { return fold.node(numbers(fold)); }
  void expectDefinition(const Fold &fold) {
    Floats x = numbers(fold);
    expect(fold.node(x), fold.resultShape(), fold.expected(x));
  }

private:
  static Floats numbers(const Fold &fold) {
    Shape s = fold.operandShape();
    Floats x(s[0] * s[1] * s[2]);
    for (auto [i, value] : llvm::enumerate(x))
      value = float(i * 7 % 23) - 11;
    return x;
  }
};

TEST_F(FoldTest, WindowsThatTileThePictureAreOnlyMoved) {
  Fold tiles{{6, 8}, {3, 2}, {3, 2}};
  expectDefinition(tiles);
  EXPECT_EQ(count<ConvolutionOp>(withNumbers(tiles)), 0);
  EXPECT_EQ(count<AddOp>(withNumbers(tiles)), 0);
  EXPECT_EQ(count<PadOp>(withNumbers(tiles)), 0);
}

TEST_F(FoldTest, OverlappingWindowsAreSumsOfShiftedBlocks) {
  Fold overlapping{{7, 9}, {2, 3}};
  expectDefinition(overlapping);
  EXPECT_EQ(count<ConvolutionOp>(withNumbers(overlapping)), 0);
  EXPECT_EQ(count<AddOp>(withNumbers(overlapping)), 5);
  Fold multiples{{10, 9}, {4, 6}, {2, 3}};
  expectDefinition(multiples);
  EXPECT_EQ(count<AddOp>(withNumbers(multiples)), 3);
}

TEST_F(FoldTest, KernelsNeedNotBeMultiplesOfTheStride) {
  expectDefinition({{8, 9}, {3, 5}, {2, 3}});
  // Pixels between the windows stay 0.
  expectDefinition({{9, 8}, {1, 2}, {2, 3}});
  // So do those after the last one.
  expectDefinition({{8, 7}, {2, 2}, {4, 5}});
}

TEST_F(FoldTest, PaddingIsCutOff) {
  expectDefinition({{5, 6}, {3, 2}, {2, 1}, {1, 1}, {1, 0, 2, 1}});
  expectDefinition({{4, 4}, {2, 2}, {2, 2}, {1, 1}, {2, 3, 0, 1}});
  // In the first dim, the only window lies in the padding.
  expectDefinition({{1, 4}, {4, 2}, {4, 1}, {1, 1}, {6, 0, 0, 0}});
}

TEST_F(FoldTest, DilatedWindowsHaveBlocksWithoutTaps) {
  Fold dilated{{9, 8}, {3, 2}, {1, 1}, {3, 2}};
  expectDefinition(dilated);
  EXPECT_EQ(count<AddOp>(withNumbers(dilated)), 5);
  expectDefinition({{9, 12}, {3, 3}, {2, 3}, {3, 2}, {1, 2, 0, 1}});
}

TEST_F(FoldTest, WindowsOfManyOrSparseBlocksAreConvolved) {
  Fold many{{12, 12}, {9, 9}, {1, 1}, {1, 1}, {1, 0, 0, 2}};
  expectDefinition(many);
  EXPECT_EQ(count<ConvolutionOp>(withNumbers(many)), 1);
  // A block as long as the stride would be almost all zeros.
  Fold sparse{{3, 3}, {2, 2}, {1 << 19, 1 << 19}};
  expectDefinition(sparse);
  EXPECT_EQ(count<ConvolutionOp>(withNumbers(sparse)), 1);
}

} // namespace
