// Rounded quotients by constants have the bits of a division.
#include "compiler/codegen/lower/Quotient.h"

#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using gradc::lower::findReciprocal;
using gradc::lower::Reciprocal;

namespace {

float multiplied(float x, Reciprocal r) { return std::fma(x, r.high, x * r.low); }

TEST(Quotient, EqualsTheDivisionForEveryMantissa) {
  for (float divisor : {3.0f, 0.1f, 0.0371f, 0.0262412224f, 16777213.0f}) {
    std::optional<Reciprocal> r = findReciprocal(divisor);
    ASSERT_TRUE(r) << divisor;
    int64_t wrong = 0;
    for (float x = 1; x < 2; x = std::nextafter(x, 2.0f))
      wrong += multiplied(x, *r) != x / divisor;
    EXPECT_EQ(wrong, 0) << divisor;
  }
}

TEST(Quotient, EqualsTheDivisionBySomeNumbers) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> mantissa(-2, 2);
  std::uniform_int_distribution<int> exponent(-20, 20);
  int found = 0;
  constexpr int tries = 2000;
  for (int i = 0; i < tries; ++i) {
    float divisor = std::ldexp(mantissa(random), exponent(random));
    std::optional<Reciprocal> r = findReciprocal(divisor);
    found += r.has_value();
    for (int j = 0; r && j < 500; ++j) {
      float x = std::ldexp(mantissa(random), exponent(random));
      EXPECT_EQ(multiplied(x, *r), x / divisor) << x << " / " << divisor;
    }
  }
  EXPECT_GT(found, tries * 9 / 10);
}

/// Some divisors have an x for which two products are wrong; others are too far from 1.
TEST(Quotient, LeavesOtherDivisors) {
  for (float divisor :
       {16777187.0f, 0.056071084f, 0.0f, -0.0f, INFINITY, NAN, 1e-30f, 1e30f, 1e-40f})
    EXPECT_FALSE(findReciprocal(divisor)) << divisor;
  std::optional<Reciprocal> power = findReciprocal(-0.25f);
  ASSERT_TRUE(power);
  EXPECT_EQ(power->high, -4.0f);
  EXPECT_EQ(power->low, 0.0f);
}

/// In kernels, for divisors with and without a reciprocal, and at special values.
TEST(Quotient, OfAKernel) {
  for (const char *divisor : {"3.71e-02", "-2.5e-01", "5.6071084e-02", "-3.0"})
    for (const char *after : {"%r", "%q"}) // rounded, or as it is
      gradc::test::expectRight(llvm::formatv(R"(exec.kernel @k(%x: tensor<5x40xf32>) attributes {{
        schedule = #exec.schedule<lanes = 8, tile = [1, 8], order = [0, 1], grain = 1>} {{
      %s = grad.constant dense<{0}> : tensor<5x40xf32>
      %q = grad.div %x, %s : tensor<5x40xf32>
      %r = grad.round %q : tensor<5x40xf32>
      exec.yield {1} : tensor<5x40xf32> })",
                                             divisor, after),
                               0, nullptr, [](std::vector<mlir::grad::HostTensor> &operands) {
                                 int64_t i = 0;
                                 for (double x : {0.0, -0.0, 1e-40, -1e-40, 1e-30, 3.4e38, -3.4e38,
                                                  double(INFINITY), -double(INFINITY), 0.01855,
                                                  0.05565, 0.125, 1e6, 1.5})
                                   operands[0].setFloat(i++, x);
                               });
}

} // namespace
