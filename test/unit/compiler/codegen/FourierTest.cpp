// Fourier transforms as single kernels: lengths, directions, element types, and real rows.
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace gradc::test;
using llvm::formatv;

namespace {

/// Of the operand and the result: how many numbers a row has, of how many parts.
struct Sizes {
  int64_t numbers, parts;
};

void expectFourier(int64_t rows, Sizes from, Sizes to, bool inverse, const char *element,
                   int64_t lanes, double tolerance) {
  auto type = [&](Sizes s) {
    return formatv("tensor<{0}x{1}x{2}x{3}>", rows, s.numbers, s.parts, element).str();
  };
  expectRight(formatv(R"(exec.kernel @k(%x: {0}) attributes {{
      schedule = #exec.schedule<lanes = {3}, tile = [{3}, {4}, {5}], order = [0, 1, 2], grain = 1, fourier>} {{
      %y = grad.fourier %x {2} : {0} -> {1}
      exec.yield %y : {1} })",
                      type(from), type(to), inverse ? "inverse" : "", lanes, to.numbers, to.parts),
              tolerance);
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
