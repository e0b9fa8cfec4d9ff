// Bounds contain what a compiled program may compute, and nothing that a wrong element would be.
#include "compiler/verify/Bounds.h"
#include "test/unit/passes/PassTesting.h"

using namespace mlir;
using namespace mlir::grad;
using gradc::Bounded;

namespace {

/// The factor by which errors may exceed bounds, as in `gradc verify`.
constexpr double safety = 4;

class Bounds : public gradc::PassTesting {
protected:
  /// Argument `i` of the function, with `at(element)` for each element.
  HostTensor argument(unsigned i, llvm::function_ref<double(int64_t)> at) {
    HostTensor tensor(cast<RankedTensorType>(function().getArgumentTypes()[i]));
    for (int64_t j = 0; j < tensor.size(); ++j)
      tensor.setFloat(j, at(j));
    return tensor;
  }
  Bounded evaluate(ArrayRef<Bounded> operands) {
    return gradc::evaluateBounded(function().front(), operands, {}).front();
  }
};

/// Between 1 and 2.
double number(int64_t i) { return 1 + std::fmod(0.6180339887 * double(i), 1.0); }

// The magnitudes of codes count, not their signs: in column 0 the terms cancel.
TEST_F(Bounds, SumsOfFloatsAndCodesRoundRelativeToTheirTerms) {
  parse(R"(func.func @f(%x: tensor<1x64xf32>, %w: tensor<64x3xi8>) -> tensor<1x3xf32> {
    %0 = grad.matmul %x, %w wide : tensor<1x64xf32>, tensor<64x3xi8>
    return %0 : tensor<1x3xf32>
  })");
  HostTensor x = argument(0, [](int64_t i) { return number(i % 32); });
  HostTensor w = argument(1, [](int64_t i) {
    const double columns[] = {i / 3 < 32 ? 97.0 : -97.0, -128, 0};
    return columns[i % 3];
  });
  Bounded y = evaluate({gradc::boundedOperand(x), gradc::boundedOperand(w)});
  for (int64_t column = 0; column < 3; ++column) {
    float sum = 0;
    double terms = 0;
    for (int64_t k = 0; k < 64; ++k) {
      double term = x.getFloat(k) * w.getFloat(k * 3 + column);
      sum += float(term);
      terms += std::abs(term);
    }
    EXPECT_LE(std::abs(double(sum) - y.value.getFloat(column)), safety * y.errorAt(column));
    EXPECT_GE(y.errorAt(column), gradc::roundoff(x.getElementType()) * terms);
    EXPECT_LT(safety * y.errorAt(column), 1); // what one wrong code would add
    if (column == 0)
      EXPECT_NE(double(sum), y.value.getFloat(column)) << "there is a rounding to bound";
  }
  EXPECT_EQ(y.errorAt(2), 0) << "a sum of zeros is exact";
}

TEST_F(Bounds, WrongCodesOfBlocksAreFound) {
  parse(R"(func.func @f(%x: tensor<2x1x32xf32>, %w: tensor<2x32x3xi8>, %s: tensor<2x1x3xf32>)
      -> tensor<1x3xf32> {
    %0 = grad.matmul %x, %w wide : tensor<2x1x32xf32>, tensor<2x32x3xi8>
    %1 = grad.mul %0, %s : tensor<2x1x3xf32>
    %2 = grad.reduce_sum %1 dims [0] : tensor<2x1x3xf32>
    return %2 : tensor<1x3xf32>
  })");
  HostTensor x = argument(0, [](int64_t i) { return i % 2 ? -number(i) : number(i - i % 3); });
  HostTensor w = argument(1, [](int64_t i) { return double(i * i % 16) - 8; });
  HostTensor s = argument(2, [](int64_t i) { return 0.01 * number(i); });
  Bounded y =
      evaluate({gradc::boundedOperand(x), gradc::boundedOperand(w), gradc::boundedOperand(s)});
  auto computed = [&](const HostTensor &codes, int64_t column) {
    float sum = 0;
    for (int64_t block = 0; block < 2; ++block) {
      float part = 0;
      for (int64_t k = 0; k < 32; ++k)
        part += float(x.getFloat(block * 32 + k)) *
                float(codes.getFloat((block * 32 + k) * 3 + column));
      sum += part * float(s.getFloat(block * 3 + column));
    }
    return double(sum);
  };
  for (int64_t column = 0; column < 3; ++column) {
    double exact = y.value.getFloat(column), limit = safety * y.errorAt(column);
    EXPECT_LE(std::abs(computed(w, column) - exact), limit);
    for (int64_t k = 0; k < 64; ++k) {
      HostTensor wrong = w;
      wrong.setInt(k * 3 + column, w.getInt(k * 3 + column) + 1);
      EXPECT_GT(std::abs(computed(wrong, column) - exact), limit) << k;
    }
  }
}

// 2.0 may become 1 or 2. A result is unknown only if such a code is multiplied by anything but 0.
TEST_F(Bounds, SumsOfUnknownCodesAreUnknown) {
  parse(R"(func.func @f(%x: tensor<1x4xf32>, %w: tensor<4x4xi8>) -> tensor<1x4xi32> {
    %0 = grad.cast %x : tensor<1x4xf32> -> tensor<1x4xi8>
    %1 = grad.matmul %0, %w wide : tensor<1x4xi8>, tensor<4x4xi8>
    return %1 : tensor<1x4xi32>
  })");
  const double numbers[] = {2.0, 2.5, -1.5, -2.0};
  HostTensor x = argument(0, [&](int64_t i) { return numbers[i]; });
  // The unknown codes of column 2 would cancel if both moved in one direction.
  const double columns[4][4] = {{0, 7, -128, 0}, {1, 2, 3, 4}, {3, 0, 0, -3}, {0, 0, 0, 1}};
  HostTensor w = argument(1, [&](int64_t i) { return columns[i % 4][i / 4]; });
  Bounded y = evaluate({gradc::boundedOperand(x, 0.01), gradc::boundedOperand(w)});
  EXPECT_EQ(y.value.getInt(0), 2 * 7 + 128);
  EXPECT_EQ(y.errorAt(0), 0);
  for (int64_t column = 1; column < 4; ++column)
    EXPECT_EQ(y.errorAt(column), INFINITY);
}

// Magnitudes of so many codes add up to more than an i32 holds.
TEST_F(Bounds, LongSumsOfUnknownCodesAreUnknown) {
  parse(R"(func.func @f(%x: tensor<1x70000xf32>, %w: tensor<70000x2xi8>) -> tensor<1x2xi32> {
    %0 = grad.cast %x : tensor<1x70000xf32> -> tensor<1x70000xui8>
    %1 = grad.matmul %0, %w wide : tensor<1x70000xui8>, tensor<70000x2xi8>
    return %1 : tensor<1x2xi32>
  })");
  HostTensor x = argument(0, [](int64_t i) { return i == 0 ? 2.0 : 255.5; });
  // Column 1 does not read the unknown code. Terms of both signs keep the sums small.
  HostTensor w = argument(1, [](int64_t i) { return i == 1 ? 0 : i % 4 < 2 ? 127 : -127; });
  Bounded y = evaluate({gradc::boundedOperand(x, 0.01), gradc::boundedOperand(w)});
  EXPECT_EQ(y.errorAt(0), INFINITY);
  EXPECT_EQ(y.errorAt(1), 0);
}

TEST_F(Bounds, ErrorsOfFloatsAreMultipliedByMagnitudesOfCodes) {
  parse(R"(func.func @f(%x: tensor<1x2xf32>, %w: tensor<2x1xi8>) -> tensor<1x1xf32> {
    %0 = grad.matmul %x, %w wide : tensor<1x2xf32>, tensor<2x1xi8>
    return %0 : tensor<1x1xf32>
  })");
  HostTensor x = argument(0, [](int64_t) { return 1.0; });
  HostTensor w = argument(1, [](int64_t i) { return i ? -100.0 : 100.0; });
  Bounded y = evaluate({gradc::boundedOperand(x, 0.5), gradc::boundedOperand(w)});
  EXPECT_EQ(y.value.getFloat(0), 0);
  EXPECT_NEAR(y.errorAt(0), 2 * 100 * 0.5, 0.01);
}

} // namespace
