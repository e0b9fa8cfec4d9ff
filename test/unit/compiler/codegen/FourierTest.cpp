// Fourier transforms as single kernels: lengths, directions, element types, and real rows.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace gradc::test;
using llvm::formatv;

namespace {

/// Of the operand and the result: how many numbers a row has, of how many parts.
struct Sizes {
  int64_t numbers, parts;
};

std::string kernelOf(int64_t rows, Sizes from, Sizes to, bool inverse, const char *element,
                     int64_t lanes) {
  auto type = [&](Sizes s) {
    return formatv("tensor<{0}x{1}x{2}x{3}>", rows, s.numbers, s.parts, element).str();
  };
  return formatv(R"(exec.kernel @k(%x: {0}) attributes {{
      schedule = #exec.schedule<lanes = {3}, tile = [{3}, {4}, {5}], order = [0, 1, 2], grain = 1, fourier>} {{
      %y = grad.fourier %x {2} : {0} -> {1}
      exec.yield %y : {1} })",
                 type(from), type(to), inverse ? "inverse" : "", lanes, to.numbers, to.parts);
}

void expectFourier(int64_t rows, Sizes from, Sizes to, bool inverse, const char *element,
                   int64_t lanes, double tolerance) {
  expectRight(kernelOf(rows, from, to, inverse, element, lanes), tolerance);
}

/// Both directions of complex numbers and, twice as many, of real ones.
void expectAll(int64_t rows, int64_t numbers, const char *element = "f32", int64_t lanes = 8,
               double tolerance = 2e-5) {
  for (bool inverse : {false, true})
    expectFourier(rows, {numbers, 2}, {numbers, 2}, inverse, element, lanes, tolerance);
  expectFourier(rows, {2 * numbers, 1}, {numbers + 1, 2}, false, element, lanes, tolerance);
  expectFourier(rows, {numbers + 1, 2}, {2 * numbers, 1}, true, element, lanes, tolerance);
}

// All butterflies, alone and in stages. Rows of less than a vector, of whole vectors, and others.
TEST(Fourier, Lengths) {
  for (int64_t lanes : {8, 16}) // on a machine with 16 and with 32 registers
    for (int64_t numbers : {2, 3, 5, 7, 8, 11, 13, 16, 20, 26, 77, 200})
      expectAll(11, numbers, "f32", lanes);
}

TEST(Fourier, LongRows) {
  for (int64_t lanes : {8, 16})
    expectAll(3, 2048, "f32", lanes, 1e-4);
  expectFourier(2, {8192, 2}, {8192, 2}, false, "f32", 16, 2e-4);
}

TEST(Fourier, Doubles) {
  for (int64_t lanes : {4, 8})
    for (int64_t numbers : {6, 16, 39})
      expectAll(5, numbers, "f64", lanes, 1e-12);
}

// One row, a row less and a row more than vectors of rows.
TEST(Fourier, Rows) {
  for (int64_t rows : {1, 7, 8, 9, 33})
    expectAll(rows, 12);
}

// Infinity and NaN reach all results of their row, and no other row. -0 is 0, and denormal numbers
// stay.
TEST(Fourier, SpecialNumbers) {
  constexpr int64_t rows = 11, infinite = 1, unordered = 4, zero = 6, denormal = 10;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (auto [from, to] : {std::pair(Sizes{20, 2}, Sizes{20, 2}),
                          {Sizes{40, 1}, Sizes{21, 2}},
                          {Sizes{21, 2}, Sizes{40, 1}}}) {
    KernelRunner runner(kernelOf(rows, from, to, /*inverse=*/to.parts == 1, "f32", 8));
    ASSERT_TRUE(runner.isReady());
    int64_t given = from.numbers * from.parts, wanted = to.numbers * to.parts;
    std::vector<HostTensor> operands = runner.randomOperands(1);
    HostTensor usual = runner.run(operands, {{0, runner.units()}})[0];
    HostTensor &x = operands[0];
    x.setFloat(infinite * given + 6, -infinity);
    x.setFloat(unordered * given + 6, std::nan(""));
    for (int64_t i = 0; i < given; ++i) {
      x.setFloat(zero * given + i, -0.0);
      x.setFloat(denormal * given + i, double(i % 7 - 3) * 0x1p-130);
    }
    HostTensor found = runner.run(operands, {{0, runner.units()}})[0];
    HostTensor expected = runner.evaluate(operands)[0];
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = row * wanted; i < (row + 1) * wanted; i += to.parts) {
        bool isFinite = true;
        for (int64_t part = i; part < i + to.parts; ++part) {
          double value = found.getFloat(part);
          isFinite &= std::isfinite(value);
          if (row == zero)
            EXPECT_EQ(value, 0) << part;
          else if (row == denormal)
            EXPECT_NEAR(value, expected.getFloat(part), 1000 * 0x1p-149) << part;
          else if (row != infinite && row != unordered)
            EXPECT_EQ(value, usual.getFloat(part)) << part;
        }
        EXPECT_EQ(isFinite, row != infinite && row != unordered) << row << ' ' << i;
      }
  }
}

TEST(Fourier, ScratchIsForAVectorOfRows) {
  auto scratchOf = [](const char *from, const char *to, const char *tile) {
    return KernelRunner(formatv(R"(exec.kernel @k(%x: tensor<{0}xf32>) attributes {{
      schedule = #exec.schedule<lanes = 8, tile = [8, {2}], order = [0, 1, 2], grain = 1, fourier>} {{
      %y = grad.fourier %x : tensor<{0}xf32> -> tensor<{1}xf32>
      exec.yield %y : tensor<{1}xf32> })",
                                from, to, tile))
        .scratch();
  };
  EXPECT_EQ(scratchOf("9x40x2", "9x40x2", "40, 2"), 40u * 2 * 8 * 4);
  // The spectrum of real numbers lies behind that of half as many complex ones.
  EXPECT_EQ(scratchOf("9x40x1", "9x21x2", "21, 2"), 2u * 21 * 2 * 8 * 4);
}

} // namespace
