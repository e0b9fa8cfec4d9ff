// N. Brisebarre, J.-M. Muller, S. K. Raina, "Accelerating correctly rounded floating-point division
// when the divisor is known in advance" (2004): two products with a reciprocal of 48 bits round as
// a division does, but for few divisors, which are known before.
#include "compiler/codegen/lower/Quotient.h"

#include "compiler/codegen/lower/Floats.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace gradc::lower;

namespace {

/// Bits of a float's mantissa, with the first one.
constexpr int digits = 24;

/// The inverse of an odd number modulo 2^32: each step doubles the bits that are right.
uint32_t inverseOf(uint32_t odd) {
  uint32_t inverse = odd; // right in 3 bits
  for (int bits = 3; bits < 32; bits *= 2)
    inverse *= 2 - odd * inverse;
  return inverse;
}

float quotientOf(float x, Reciprocal r) { return std::fma(x, r.high, x * r.low); }

/// Whether products with `r` round as divisions by b, an odd number below 2^24, do.
///
/// The sum of the two products, before it is rounded, has a relative error of at most 2^-46: 2^-47
/// from rounding `low`, which is below 2^-23 of `high`, and as much from rounding its product. So
/// the results can differ only for an x whose quotient is that close to a midpoint of two floats.
/// Let x and b be integers, x of 24 bits and b of p, and the midpoint m / 2^s, with an odd m of 25
/// bits, so s is p or p + 1. Then x * 2^s - b * m = d for an integer d that is not 0, as m is odd
/// and s > 0, and |d| is at most b * m * 2^-46 < 2^(p - 21). There are few d, and each has few m,
/// since b * m = -d modulo 2^s.
bool roundsAlike(uint32_t b, Reciprocal r) {
  int p = std::bit_width(b);
  if (p <= digits - 3)
    return true;
  constexpr uint64_t least = uint64_t(1) << digits;
  int64_t limit = int64_t(1) << (p - (digits - 3));
  uint32_t inverse = inverseOf(b);
  for (int s : {p, p + 1})
    for (int64_t d = -limit; d <= limit; ++d) {
      uint64_t modulus = uint64_t(1) << s;
      uint64_t m = uint64_t(uint32_t(-d) * inverse) % modulus;
      for (; m < 2 * least; m += modulus) {
        if (m < least || m % 2 == 0)
          continue;
        float x = float(int64_t((b * m + uint64_t(d)) >> s));
        if (quotientOf(x, r) != x / float(b))
          return false;
      }
    }
  return true;
}

bool isInteger(Operation *user) { return isa<math::RoundEvenOp>(user); }

/// Tiny quotients, for which the second product is denormal, are rounded to 0 in any case.
struct MultiplyByReciprocal : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    std::optional<APFloat> divisor = constantOf(op.getRhs());
    if (!getElementTypeOrSelf(op.getType()).isF32() || !divisor ||
        !llvm::all_of(op->getUsers(), isInteger))
      return failure();
    std::optional<Reciprocal> reciprocal = findReciprocal(divisor->convertToFloat());
    if (!reciprocal)
      return failure();
    Float x(rewriter, op.getLoc(), op.getLhs());
    Float high = x.number(reciprocal->high), low = x.number(reciprocal->low);
    Float quotient = reciprocal->low == 0 ? x * high : x.fma(high, x * low);
    rewriter.replaceOp(op, quotient.get());
    return success();
  }
};

} // namespace

std::optional<Reciprocal> gradc::lower::findReciprocal(float divisor) {
  // The exponents of x and its quotient have 100 of 126 to spare.
  constexpr int mostExponent = 24;
  if (!std::isnormal(divisor) || std::abs(std::ilogb(divisor)) > mostExponent)
    return std::nullopt;
  auto split = [](float b) {
    // `high` is rounded toward 0, so an infinite x has products of one sign.
    double whole = 1.0 / double(b);
    float high = float(whole);
    if (std::abs(double(high)) > std::abs(whole))
      high = std::nextafter(high, 0.0f);
    // The remainder 1 - b * high is a float.
    return Reciprocal{high, std::fma(-b, high, 1.0f) / b};
  };
  auto mantissa = uint32_t(std::ldexp(std::abs(divisor), digits - 1 - std::ilogb(divisor)));
  uint32_t odd = mantissa >> std::countr_zero(mantissa);
  if (!roundsAlike(odd, split(float(odd))))
    return std::nullopt;
  return split(divisor);
}

void gradc::lower::populateQuotientPatterns(RewritePatternSet &patterns) {
  patterns.add<MultiplyByReciprocal>(patterns.getContext());
}
