// Beta numbers by rejection, and boxes by torchvision's formula.
#include "runtime/data/stage/MixDraw.h"

#include <algorithm>
#include <cmath>

namespace gradc::runtime {

double drawShare(Random &random) { return (double(random.next()) + 0.5) * 0x1p-32; }

/// Jöhnk's method: x / (x + y) of x = u^(1/alpha) and y = v^(1/alpha) with x + y <= 1. Logarithms
/// keep the quotient where both powers are too small for a double.
static double drawOuterBeta(Random &random, double alpha) {
  for (;;) {
    double x = std::log(drawShare(random)) / alpha;
    double y = std::log(drawShare(random)) / alpha;
    if (std::exp(x) + std::exp(y) <= 1)
      return 1 / (1 + std::exp(y - x));
  }
}

/// Ulrich's polar method, from a point in a half disk.
static double drawInnerBeta(Random &random, double alpha) {
  for (;;) {
    double u = drawShare(random);
    double v = 2 * drawShare(random) - 1;
    double square = u * u + v * v;
    if (square > 1)
      continue;
    double radius = std::sqrt(1 - std::pow(square, 2 / (2 * alpha - 1)));
    return std::clamp(0.5 + u * v / square * radius, 0.0, 1.0);
  }
}

double drawBeta(Random &random, double alpha) {
  // Each method accepts at least half of its pairs on its side.
  return alpha < 1 ? drawOuterBeta(random, alpha) : drawInnerBeta(random, alpha);
}

Box drawBox(Random &random, double kept, int64_t height, int64_t width) {
  auto x = int64_t(random.below(uint64_t(width))), y = int64_t(random.below(uint64_t(height)));
  double half = 0.5 * std::sqrt(1 - kept);
  auto halfWidth = int64_t(half * double(width)), halfHeight = int64_t(half * double(height));
  return {std::max<int64_t>(y - halfHeight, 0), std::min(y + halfHeight, height),
          std::max<int64_t>(x - halfWidth, 0), std::min(x + halfWidth, width)};
}

} // namespace gradc::runtime
