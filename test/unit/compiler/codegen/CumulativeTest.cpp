// Cumulative sums and products as single kernels: element types, both ends of a dim, and vectors of
// rows.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace gradc::test;
using llvm::formatv;

namespace {

using Prepare = std::function<void(std::vector<HostTensor> &)>;

/// `op`: the op's kind. `how`: its dim, and what else it has.
void expectCumulative(const std::string &type, const char *op, const std::string &how,
                      const char *tile, const char *order, double tolerance = 0,
                      const Prepare &prepare = {}, int64_t lanes = 8) {
  expectRight(formatv(R"(exec.kernel @k(%x: tensor<{0}>) attributes {{
      schedule = #exec.schedule<lanes = {5}, tile = [{3}], order = [{4}], grain = 1, cumulative>} {{
      %y = grad.cumulative {1} %x dim {2} : tensor<{0}>
      exec.yield %y : tensor<{0}> })",
                      type, op, how, tile, order, lanes),
              tolerance, nullptr, prepare);
}

/// Sums of 16 bits are rounded to f32 before.
double toleranceOf(llvm::StringRef element) {
  return element == "bf16" ? 8e-3 : element == "f16" ? 1e-3 : 0;
}

constexpr const char *elements[] = {"f64", "f32", "f16", "bf16", "i8",   "i16",
                                    "i32", "i64", "ui8", "ui16", "ui32", "ui64"};

TEST(Cumulative, ElementTypes) {
  for (const char *element : elements)
    for (const char *op : {"sum", "prod"}) {
      expectCumulative(formatv("3x50x{0}", element), op, "1", "1, 50", "0, 1",
                       toleranceOf(element));
      expectCumulative(formatv("50x21x{0}", element), op, "0", "50, 8", "1, 0",
                       toleranceOf(element));
    }
}

TEST(Cumulative, FromEitherEnd) {
  for (const char *how : {"", "exclusive", "reverse", "exclusive reverse"})
    for (const char *op : {"sum", "prod"}) {
      expectCumulative("3x50xf32", op, formatv("1 {0}", how), "1, 50", "0, 1");
      expectCumulative("50x21xf32", op, formatv("0 {0}", how), "50, 8", "1, 0");
      expectCumulative("50x21xi32", op, formatv("0 {0}", how), "50, 1", "1, 0");
    }
}

TEST(Cumulative, AnyDim) {
  expectCumulative("200xf32", "sum", "0", "200", "0");
  expectCumulative("1xf32", "sum", "0 exclusive", "1", "0");
  expectCumulative("2x3x70xf64", "sum", "2", "1, 1, 70", "1, 0, 2");
  expectCumulative("2x70x5xf32", "sum", "1", "1, 70, 1", "0, 2, 1");
  expectCumulative("2x20x3x4xf32", "sum", "1", "1, 20, 1, 8", "0, 2, 3, 1");
}

// Tiles of one vector or of several, and what is left of the last dim: less than a tile, a part of
// a vector that is stored in one piece, or another part.
TEST(Cumulative, VectorsOfRows) {
  for (int64_t lanes : {8, 16})
    for (const char *element : {"f32", "bf16", "i64"})
      for (int64_t columns : {2, 5, 8, 32, 37, 103})
        for (const char *tile : {"1, 20, 16", "1, 20, 32"})
          expectCumulative(formatv("3x20x{0}x{1}", columns, element), "sum", "1", tile, "0, 2, 1",
                           toleranceOf(element), {}, lanes);
}

// Many tiles of a large tensor go along the dim together, with their sums in scratch memory: in one
// group or several, which end in the middle of a row of tiles.
TEST(Cumulative, TilesTogether) {
  auto expectTogether = [](const std::string &type, const std::string &how, const char *tile,
                           const char *order, int64_t lanes) {
    const char *text = R"(exec.kernel @k(%x: tensor<{0}>) attributes {{
      schedule = #exec.schedule<lanes = {3}, tile = [{1}], order = [{2}], grain = 1, cumulative>} {{
      %y = grad.cumulative sum %x dim {4} : tensor<{0}>
      exec.yield %y : tensor<{0}> })";
    EXPECT_GT(KernelRunner(formatv(text, type, tile, order, lanes, how)).scratch(), 0u);
    expectCumulative(type, "sum", how, tile, order, 0, {}, lanes);
  };
  for (const char *how : {"0", "0 exclusive", "0 reverse"}) {
    expectTogether("300x2100xf32", how, "300, 32", "1, 0", 8);
    expectTogether("600x1030xi32", how, "600, 64", "1, 0", 16);
  }
  expectTogether("3x100x2100xf64", "1", "1, 100, 32", "0, 2, 1", 8);
}

// In f32, a million numbers alike would lose a hundredth of their sum.
TEST(Cumulative, LongSumsKeepTheirDigits) {
  expectCumulative("1000000xf32", "sum", "0", "1000000", "0", 0,
                   [](std::vector<HostTensor> &operands) {
                     for (int64_t i = 0; i < operands[0].size(); ++i)
                       operands[0].setFloat(i, 0.1);
                   });
}

// A sum that has met an infinity stays infinite, and is NaN once it meets the other infinity.
TEST(Cumulative, Infinities) {
  KernelRunner runner(R"(exec.kernel @k(%x: tensor<2x20xf32>) attributes {
      schedule = #exec.schedule<lanes = 8, tile = [1, 20], order = [0, 1], grain = 1, cumulative>} {
      %y = grad.cumulative sum %x dim 1 : tensor<2x20xf32>
      exec.yield %y : tensor<2x20xf32> })");
  ASSERT_TRUE(runner.isReady());
  std::vector<HostTensor> operands = runner.randomOperands(1);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  operands[0].setFloat(5, infinity);
  operands[0].setFloat(15, -infinity);
  HostTensor found = runner.run(operands, {{0, 2}})[0], expected = runner.evaluate(operands)[0];
  for (int64_t i = 0; i < found.size(); ++i) {
    double e = expected.getFloat(i);
    EXPECT_EQ(std::isnan(e), i >= 15 && i < 20);
    EXPECT_TRUE(std::isnan(e) ? std::isnan(found.getFloat(i)) : found.getFloat(i) == e) << i;
  }
}

} // namespace
