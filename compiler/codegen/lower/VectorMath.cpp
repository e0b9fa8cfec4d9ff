// Expansions of math functions. f32 coefficients are minimax fits. f64 coefficients are Taylor's
// where the series converges fast enough, otherwise those of Sun's fdlibm.
#include "compiler/codegen/lower/VectorMath.h"

#include "compiler/codegen/lower/Floats.h"

using namespace mlir;
using namespace gradc::lower;

namespace {

// Exponentials ------------------------------------------------------------------------------------

/// x = n ln 2 + r with |r| <= ln 2 / 2.
struct Reduced {
  Float r;
  Float::Whole n;
};

Reduced reduceByLn2(Float x) {
  Float::Whole n = (x * 1.4426950408889634).nearest();
  Float rounded = x.with(n.number);
  Float high = rounded.fma(x.number(-0.693359375, -6.93147180369123816490e-01), x);
  return {rounded.fma(x.number(2.12194440e-4, -1.90821492927058770002e-10), high), n};
}

/// (e^r - 1) / r.
Float expm1Quotient(Float r) {
  if (!r.isF64())
    return r.polynomial({0.00138368456, 0.0083748158, 0.0416682256, 0.166664202, 0.499999921, 1.0});
  SmallVector<double> taylor;
  double factorial = 1;
  for (int k = 1; k <= 13; ++k)
    taylor.insert(taylor.begin(), 1 / (factorial *= k));
  return r.polynomial(taylor);
}

Float expOf(Float x) {
  // Past these limits the result is 0 or infinite, and the reduction is inexact.
  Float limited = x.isF64() ? x.atLeast(-746.0).atMost(710.0) : x.atLeast(-104.0).atMost(89.0);
  auto [r, n] = reduceByLn2(limited);
  return expm1Quotient(r).fma(r, r.number(1.0)).scale(n);
}

Float expm1Of(Float x) {
  Float limited = x.isF64() ? x.atLeast(-40.0).atMost(710.0) : x.atLeast(-20.0).atMost(89.0);
  auto [r, n] = reduceByLn2(limited);
  // Computes half of 2^n (e^r - 1) + (2^n - 1), so that 2^n does not overflow before the result
  // does.
  Float half = r.powerOfTwo(n, -1);
  Float y = half.fma(expm1Quotient(r) * r, half - 0.5);
  return (y + y).copySign(x);
}

Float tanhOf(Float x) {
  Float a = x.abs();
  if (x.isF64()) {
    Float t = expm1Of(a.atMost(22.0) * 2.0);
    return (t / (t + 2.0)).copySign(x);
  }
  auto [r, n] = reduceByLn2(a.atMost(10.0) * -2.0);
  Float expm1 = (r * r).fma(
      r.polynomial({0.00138820824, 0.00836659689, 0.0416672081, 0.166665435, 0.49999997}), r);
  Float half = r.powerOfTwo(n, -1);
  Float y = (-half).fma(expm1, half.number(0.5) - half); // (1 - e^-2a) / 2
  // tanh a = y / (1 - y) = y + y q with the quotient q, whose rounding error is multiplied by y.
  return y.fma(y / (y.number(1.0) - y), y).copySign(x);
}

// Logarithms --------------------------------------------------------------------------------------

/// ln x for positive, finite, normal x.
Float logOfNormal(Float x) {
  int64_t mantissa = x.isF64() ? 52 : 23;
  Value rootHalf = x.integer(x.isF64() ? 0x3fe6a09e667f3bcd : 0x3f3504f3);
  Value exponent = x.integerOp<arith::ShRSIOp>(x.integerOp<arith::SubIOp>(x.bits(), rootHalf),
                                               x.integer(mantissa));
  Value scaled = x.integerOp<arith::SubIOp>(
      x.bits(), x.integerOp<arith::ShLIOp>(exponent, x.integer(mantissa)));
  Float n = x.fromInteger(exponent), f = x.fromBits(scaled) - 1.0; // 1 + f in [sqrt 1/2, sqrt 2]
  if (!x.isF64()) {
    Float s = f * f;
    Float y = f * s *
              f.polynomial({0.0674663808, -0.116756511, 0.11888163, -0.124055891, 0.142195523,
                            -0.166679958, 0.200021187, -0.250000096, 0.333333126});
    y = n.fma(n.number(-2.12194440e-4), y);
    y = f + s.fma(s.number(-0.5), y);
    return n.fma(n.number(0.693359375), y);
  }
  Float s = f / (f + 2.0), z = s * s, halfSquare = f * f * 0.5;
  Float rest = z * z.polynomial({1.479819860511658591e-01, 1.531383769920937332e-01,
                                 1.818357216161805012e-01, 2.222219843214978396e-01,
                                 2.857142874366239149e-01, 3.999999999940941908e-01,
                                 6.666666666666735130e-01});
  Float low = s * (halfSquare + rest) + n * 1.90821492927058770002e-10;
  return n * 6.93147180369123816490e-01 - ((halfSquare - low) - f);
}

Float logOf(Float x) {
  // Scales denormals up first.
  double smallest = x.isF64() ? 0x1p-1022 : 0x1p-126, up = x.isF64() ? 0x1p54 : 0x1p25;
  double shift = x.isF64() ? 54 : 25;
  Value isTiny = x < smallest;
  Float y = logOfNormal((x * up).select(isTiny, x));
  Float zero = x.number(0.0), infinity = x.number(INFINITY);
  y = (y - shift * 0.69314718055994531).select(isTiny, y);
  y = (-infinity).select(x == zero, y);
  y = infinity.select(x == infinity, y);
  // Negative numbers and NaN give NaN.
  return y.select(x.compare(arith::CmpFPredicate::OGE, zero), x.number(NAN));
}

Float log1pOf(Float x) {
  Float one = x.number(1.0), u = x + one;
  Float y = logOf(u);
  // The part of x that is lost by rounding the sum 1 + x.
  Float correction = (x - (u - one)) / u;
  Value usable = x.both(u > 0.0, u < x.number(INFINITY));
  y = (y + correction).select(usable, y);
  return x.select(u == one, y);
}

// erf ---------------------------------------------------------------------------------------------

Float erfOfF32(Float x) {
  Float a = x.abs(), s = x * x;
  Float small = x * s.polynomial({8.51310444e-05, -0.000817563939, 0.00520385917, -0.0268605085,
                                  0.11283715, -0.37612635, 1.12837917});
  // Computes 1 - 2^-p(a).
  Float p = a.atMost(4.0).polynomial({-0.00029218533, 0.00448271289, -0.0324303088, 0.150686663,
                                      0.918422057, 1.62738229, 0.00016548126});
  Float::Whole n = (-p).nearest();
  Float power = (-p - x.with(n.number))
                    .polynomial({0.000153458116, 0.00133999312, 0.00961848896, 0.0555032878,
                                 0.240226469, 0.693147206, 1.0})
                    .scaleNormal(n);
  Float large = x.number(1.0) - power;
  return small.select(a < 0.875, large.copySign(x));
}

Float erfOfF64(Float x) {
  Float a = x.abs(), z = x * x, one = x.number(1.0);
  Float small = x + x * (z.polynomial({-2.37630166566501626084e-05, -5.77027029648944159157e-03,
                                       -2.84817495755985104766e-02, -3.25042107247001499370e-01,
                                       1.28379167095512558561e-01}) /
                         z.polynomial({-3.96022827877536812320e-06, 1.32494738004321644526e-04,
                                       5.08130628187576562776e-03, 6.50222499887672944485e-02,
                                       3.97917223959155352819e-01, 1.0}));
  Float t = a - 1.0;
  Float middle = t.polynomial({-2.16637559486879084300e-03, 3.54783043256182359371e-02,
                               -1.10894694282396677476e-01, 3.18346619901161753674e-01,
                               -3.72207876035701323847e-01, 4.14856118683748331666e-01,
                               -2.36211856075265944077e-03}) /
                     t.polynomial({1.19844998467991074170e-02, 1.36370839120290507362e-02,
                                   1.26171219808761642112e-01, 7.18286544141962662868e-02,
                                   5.40397917702171048937e-01, 1.06420880400844228286e-01, 1.0}) +
                 8.45062911510467529297e-01;
  // Computes 1 - erfc; the argument of erfc is split so that its square is exact.
  Float c = a.atMost(6.0), w = one / (c * c);
  Float near = w.polynomial({-9.81432934416914548592e+00, -8.12874355063065934246e+01,
                             -1.84605092906711035994e+02, -1.62396669462573470355e+02,
                             -6.23753324503260060396e+01, -1.05586262253232909814e+01,
                             -6.93858572707181764372e-01, -9.86494403484714822705e-03}) /
               w.polynomial({-6.04244152148580987438e-02, 6.57024977031928170135e+00,
                             1.08635005541779435134e+02, 4.29008140027567833386e+02,
                             6.45387271733267880336e+02, 4.34565877475229228821e+02,
                             1.37657754143519042600e+02, 1.96512716674392571292e+01, 1.0});
  Float far = w.polynomial({-4.83519191608651397019e+02, -1.02509513161107724954e+03,
                            -6.37566443368389627722e+02, -1.60636384855821916062e+02,
                            -1.77579549177547519889e+01, -7.99283237680523006574e-01,
                            -9.86494292470009928597e-03}) /
              w.polynomial({-2.24409524465858183362e+01, 4.74528541206955367215e+02,
                            2.55305040643316442583e+03, 3.19985821950859553908e+03,
                            1.53672958608443695994e+03, 3.25792512996573918826e+02,
                            3.03380607434824582924e+01, 1.0});
  Float high = c.fromBits(c.integerOp<arith::AndIOp>(c.bits(), c.integer(~int64_t(0xffffffff))));
  Float ratio = near.select(c < 1.0 / 0.35, far);
  Float tail =
      expOf((-high).fma(high, x.number(-0.5625))) * expOf((high - c).fma(high + c, ratio)) / c;
  Float large = one - tail;
  Float y = middle.select(a < 1.25, large);
  return small.select(a < 0.84375, y.copySign(x));
}

Float erfOf(Float x) { return x.isF64() ? erfOfF64(x) : erfOfF32(x); }

// Sine and cosine ---------------------------------------------------------------------------------

/// Computes sine or cosine from the remainder of x by pi / 2, in f64; `quadrants` is added to the
/// quotient.
Float sineOf(Float x, double quadrants) {
  if (!x.isF64())
    return sineOf(x.toF64(), quadrants).toF32();
  Float n = (x * 0.63661977236758134308).roundEven();
  Float r = n.fma(x.number(-1.57079632673412561417e+00), x);
  r = n.fma(x.number(-6.07710050630396597660e-11), r);
  r = n.fma(x.number(-2.02226624879595063154e-21), r);
  r = r.atLeast(-0.8).atMost(0.8); // the remainder may have no correct digits
  Float s = r * r;
  Float sine = (r * s).fma(s.polynomial({1.58969099521155010221e-10, -2.50507602534068634195e-08,
                                         2.75573137070700676789e-06, -1.98412698298579493134e-04,
                                         8.33333333332248946124e-03, -1.66666666666666324348e-01}),
                           r);
  Float cosine =
      (s * s).fma(s.polynomial({-1.13596475577881948265e-11, 2.08757232129817482790e-09,
                                -2.75573143513906633035e-07, 2.48015872894767294178e-05,
                                -1.38888888888741095749e-03, 4.16666666666666019037e-02}),
                  s.fma(s.number(-0.5), s.number(1.0)));
  Float shifted = n + quadrants;
  Float quadrant = shifted - (shifted * 0.25).floor() * 4.0;
  Value isOdd = x.either(quadrant == 1.0, quadrant == 3.0);
  Float y = cosine.select(isOdd, sine);
  y = (-y).select(quadrant > 1.5, y);
  // Infinities and NaN give NaN.
  return y.select(x.abs() < x.number(INFINITY), x - x);
}

Float sinOf(Float x) { return x.select(x == 0.0, sineOf(x, 0.0)); } // preserves -0
Float cosOf(Float x) { return sineOf(x, 1.0); }

// Arctangent --------------------------------------------------------------------------------------

/// atan of a in [0, inf]: reduces a below tan(pi/8) or 0.66 by atan(a) = pi/2 - atan(1/a) and pi/4
/// + atan((a - 1) / (a + 1)).
Float atanOf(Float x) {
  Float a = x.abs(), one = x.number(1.0);
  Value isLarge = a > 2.41421356237309504880,
        isMedium = a > (x.isF64() ? 0.66 : 0.4142135623730950);
  Float medium = ((a - one) / (a + one)).select(isMedium, a);
  Float t = (-(one / a)).select(isLarge, medium), z = t * t;
  Float quotient = x.isF64()
                       ? z *
                             z.polynomial({-8.750608600031904122785e-1, -1.615753718733365076637e1,
                                           -7.500855792314704667340e1, -1.228866684490136173410e2,
                                           -6.485021904942025371773e1}) /
                             z.polynomial({1.0, 2.485846490142306297962e1,
                                           1.650270098316988542046e2, 4.328810604912902668951e2,
                                           4.853903996359136964868e2, 1.945506571482613964425e2})
                       : z * z.polynomial({8.05374449538e-2, -1.38776856032e-1, 1.99777106478e-1,
                                           -3.33329491539e-1});
  constexpr double quarter = 0.78539816339744830962, lost = 6.123233995736765886130e-17;
  Float angle =
      x.number(2 * quarter).select(isLarge, x.number(quarter).select(isMedium, x.number(0.0)));
  Float rest = x.number(lost).select(isLarge, x.number(lost / 2).select(isMedium, x.number(0.0)));
  return (angle + (t.fma(quotient, t) + rest)).copySign(x);
}

// Remainders --------------------------------------------------------------------------------------

/// C's fmod, exactly: x - n y has a remainder's few digits if n is the rounded quotient, so one fma
/// computes it without an error. It is at most y / 2, or, if n has more digits than a float, 2^-23
/// (f64: 2^-52) of x; then another step follows.
Float remOf(Float a, Float b) {
  Float y = b.abs();
  Float rest = a.abs().repeat([&](Float x) {
    // Multiples of y with a quotient that is finite.
    Float divisor = y;
    for (int i = 0; i < 2; ++i) {
      Value isFar = divisor < x.abs() * x.number(0x1p-100, 0x1p-900);
      divisor = (divisor * x.number(0x1p76, 0x1p540)).select(isFar, divisor);
    }
    // If y is larger, even infinite, x stays unchanged.
    auto isLarge = [&](Float v) { return v.abs().compare(arith::CmpFPredicate::OGE, y); };
    Float n = (x / divisor).roundEven();
    Float next = (-n).fma(divisor, x).select(isLarge(x), x);
    return std::pair(next, isLarge(next));
  });
  rest = (rest + y).select(rest < 0.0, rest).copySign(a);
  return b.select(b.compare(arith::CmpFPredicate::UNO, b), rest);
}

// Powers ------------------------------------------------------------------------------------------

Float rsqrtOf(Float x) { return x.number(1.0) / x.sqrt(); }

Float powOf(Float a, Float b) {
  if (!a.isF64())
    return powOf(a.toF64(), b.toF64()).toF32();
  Float one = a.number(1.0), zero = a.number(0.0), infinity = a.number(INFINITY);
  Float y = expOf(b * logOf(a.abs()));
  // (-1)^inf is 1; the product above gives 0 * inf.
  y = one.select(a.both(a.abs() == one, b.abs() == infinity), y);
  Value isInteger = b == b.floor();
  Float half = b * 0.5;
  Value isEven = half == half.floor();
  Float negated = y.select(isEven, -y);
  Float ofNegative = negated.select(isInteger, y.number(NAN).select(a < zero, y));
  // -0 counts as signed; -inf to a fractional power is like +inf.
  Value hasSign = one.copySign(a) < zero;
  Float ofInfinity = negated.select(isInteger, y);
  y = ofInfinity.select(a == -infinity, ofNegative).select(hasSign, y);
  y = a.number(NAN).select(
      a.either(a.compare(arith::CmpFPredicate::UNO, a), b.compare(arith::CmpFPredicate::UNO, b)),
      y);
  return one.select(a.either(a == one, b == zero), y);
}

// Patterns ----------------------------------------------------------------------------------------

bool isNarrow(Type type) { return getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32; }

/// Replaces an op by `formula` applied to its operands.
template <typename Op, typename Formula>
LogicalResult expand(Op op, PatternRewriter &rewriter, bool hasScales, Formula formula) {
  Location location = op.getLoc();
  auto widened = [&](Value v) {
    if (!isNarrow(v.getType()))
      return Float(rewriter, location, v, hasScales);
    Type wide = rewriter.getF32Type();
    if (auto vector = dyn_cast<VectorType>(v.getType()))
      wide = vector.clone(wide);
    return Float(rewriter, location, arith::ExtFOp::create(rewriter, location, wide, v), hasScales);
  };
  Value result = formula(widened).get();
  if (isNarrow(op.getType()))
    result = arith::TruncFOp::create(rewriter, location, op.getType(), result);
  rewriter.replaceOp(op, result);
  return success();
}

template <typename Op> struct Expand : OpRewritePattern<Op> {
  Expand(MLIRContext *context, bool hasScales)
      : OpRewritePattern<Op>(context), hasScales(hasScales) {}
  bool hasScales;
};

template <typename Op, Float (*formula)(Float)> struct ExpandUnary : Expand<Op> {
  using Expand<Op>::Expand;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    return expand(op, rewriter, this->hasScales,
                  [&](auto widened) { return formula(widened(op.getOperand())); });
  }
};

template <typename Op, Float (*formula)(Float, Float)> struct ExpandBinary : Expand<Op> {
  using Expand<Op>::Expand;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    return expand(op, rewriter, this->hasScales, [&](auto widened) {
      return formula(widened(op.getLhs()), widened(op.getRhs()));
    });
  }
};

} // namespace

void gradc::lower::populateVectorMathPatterns(RewritePatternSet &patterns, bool hasScales) {
  patterns.add<ExpandUnary<math::ExpOp, expOf>, ExpandUnary<math::ExpM1Op, expm1Of>,
               ExpandUnary<math::LogOp, logOf>, ExpandUnary<math::Log1pOp, log1pOf>,
               ExpandUnary<math::TanhOp, tanhOf>, ExpandUnary<math::ErfOp, erfOf>,
               ExpandUnary<math::SinOp, sinOf>, ExpandUnary<math::AtanOp, atanOf>,
               ExpandUnary<math::CosOp, cosOf>, ExpandUnary<math::RsqrtOp, rsqrtOf>,
               ExpandBinary<math::PowFOp, powOf>, ExpandBinary<arith::RemFOp, remOf>>(
      patterns.getContext(), hasScales);
}
