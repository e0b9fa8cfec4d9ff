// Uses only +, *, /, and sqrt, which round the same way everywhere; library logarithms do not.
#include "compiler/import/transfer/Draws.h"

#include "dialects/grad/math/Philox.h"
#include "runtime/include/gradc/hash.h"

#include <cmath>
#include <numbers>

using namespace gradc;

Draws::Draws(int64_t seed, llvm::StringRef name)
    : key{uint32_t(seed), uint32_t(gradc_hash(name.data(), name.size()))} {}

std::array<uint32_t, 4> Draws::words(uint64_t position, uint32_t attempt) const {
  return mlir::grad::Philox::words(
      {uint32_t(position), uint32_t(position >> 32), attempt, /*unlike a step's*/ 1}, key);
}

double Draws::uniform(uint64_t position) const { return words(position, 0)[0] * 0x1p-32; }

/// The natural logarithm of a positive number: m 2^e with m near 1, log m = 2 artanh((m-1)/(m+1)).
static double logarithm(double x) {
  int exponent;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  double s = (m - 1) / (m + 1), square = s * s, series = 0;
  for (int k = 35; k >= 1; k -= 2)
    series = series * square + 1.0 / k;
  return 2 * s * series + exponent * std::numbers::ln2;
}

/// Marsaglia's polar method: draws points of a square until one lies inside the circle.
double Draws::normal(uint64_t position) const {
  for (uint32_t attempt = 0;; ++attempt) {
    std::array<uint32_t, 4> drawn = words(position, attempt);
    double x = (drawn[0] + 0.5) * 0x1p-31 - 1, y = (drawn[1] + 0.5) * 0x1p-31 - 1;
    double radius = x * x + y * y;
    if (radius < 1)
      return x * std::sqrt(-2 * logarithm(radius) / radius);
  }
}
