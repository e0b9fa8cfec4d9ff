// The documented errors of the math functions, over millions of points and at every special value.
#include "dialects/exec/Level.h"
#include "test/unit/compiler/codegen/KernelRunner.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

using namespace gradc::test;
using llvm::formatv;

namespace {

/// Computes y = f(x) over a whole buffer with the machine code of one kernel.
class Function {
public:
  static constexpr int64_t size = 1 << 16;
  /// `native`: with all instructions of this level; otherwise, with those of x86-64-v3.
  Function(const std::string &op, bool isF64, bool isBinary = false,
           const mlir::exec::Level *native = nullptr)
      : runner(formatv(R"(exec.kernel @k(%x: {0}, %y: {0}) attributes {{
          schedule = #exec.schedule<lanes = {1}, tile = [{1}], order = [0], grain = 1>} {{
        %r = grad.{2} %x{3} : {0}
        exec.yield %r : {0} })",
                       formatv("tensor<{0}x{1}>", size, isF64 ? "f64" : "f32"),
                       (native ? native->vectorBytes : 32) / (isF64 ? 8 : 4), op,
                       isBinary ? ", %y" : ""),
               native) {}
  bool isReady() const { return runner.isReady(); }

  template <typename T> std::vector<T> operator()(std::vector<T> x, std::vector<T> y = {}) {
    size_t count = x.size();
    x.resize(size);
    y.resize(size);
    auto type = [&](const std::vector<T> &v) { return runner.operand(v.data(), size * sizeof(T)); };
    HostTensor result = runner.run({type(x), type(y)}, {{0, runner.units()}})[0];
    std::vector<T> out(count);
    std::memcpy(out.data(), result.bytes().data(), count * sizeof(T));
    return out;
  }

private:
  KernelRunner runner;
};

/// |found - exact| in units of the last place of the exact value.
template <typename T> double ulps(T found, long double exact) {
  T nearest = T(exact);
  if (std::isnan(nearest) || std::isinf(nearest))
    return (std::isnan(nearest) && std::isnan(found)) || nearest == found ? 0 : INFINITY;
  int exponent;
  std::frexp(std::max<T>(std::abs(nearest), std::numeric_limits<T>::min()), &exponent);
  long double unit = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
  return double(std::abs((long double)found - exact) / unit);
}

using Exact = long double (*)(long double);

/// Points spread evenly between the limits, and over all exponents up to them.
template <typename T> std::vector<T> points(double low, double high, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> even(low, high), exponent(-60, 0);
  std::vector<T> x(Function::size);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = T(even(generator));
    if (i % 2)
      x[i] = T(double(x[i]) * std::exp2(exponent(generator)));
    x[i] = std::clamp(x[i], T(low), T(high));
  }
  return x;
}

template <typename T>
void expectWithin(const std::string &op, Exact exact, double low, double high, double limit,
                  unsigned seeds) {
  Function f(op, sizeof(T) == 8);
  ASSERT_TRUE(f.isReady());
  double worst = 0;
  T at = 0;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    std::vector<T> x = points<T>(low, high, seed), y = f(x);
    for (size_t i = 0; i < x.size(); ++i)
      if (double error = ulps(y[i], exact(x[i])); !(error <= worst)) {
        worst = error;
        at = x[i];
      }
  }
  EXPECT_LE(worst, limit) << op << (sizeof(T) == 8 ? " f64" : " f32") << " at " << at;
  ::testing::Test::RecordProperty((op + (sizeof(T) == 8 ? "_f64" : "_f32")).c_str(),
                                  std::to_string(worst));
}

template <typename T> void expectSpecial(const std::string &op, Exact exact) {
  using Limits = std::numeric_limits<T>;
  Function f(op, sizeof(T) == 8);
  ASSERT_TRUE(f.isReady());
  std::vector<T> x{T(0),
                   T(-0.0),
                   T(1),
                   T(-1),
                   Limits::infinity(),
                   -Limits::infinity(),
                   Limits::quiet_NaN(),
                   Limits::denorm_min(),
                   -Limits::denorm_min(),
                   Limits::min(),
                   -Limits::min(),
                   Limits::max(),
                   Limits::lowest(),
                   Limits::min() / 3};
  std::vector<T> y = f(x);
  for (size_t i = 0; i < x.size(); ++i) {
    long double expected = exact(x[i]);
    EXPECT_LE(ulps(y[i], expected), 4)
        << op << "(" << x[i] << ") = " << y[i] << ", expected " << double(expected);
    if (x[i] == 0 && y[i] == 0)
      EXPECT_EQ(std::signbit(y[i]), std::signbit(T(expected))) << op << "(" << x[i] << ")";
  }
}

struct Case {
  const char *op;
  Exact exact;
  double low32, high32, limit32, low64, high64, limit64;
  bool isBoundedOutside = false; // sine arguments above 1e5
};

const Case cases[] = {
    {"exp", [](long double x) { return std::exp(x); }, -105, 89, 1.1, -750, 711, 1.1},
    {"expm1", [](long double x) { return std::expm1(x); }, -30, 89, 2.5, -50, 711, 2.5},
    {"log", [](long double x) { return std::log(x); }, 0, 3e38, 1.0, 0, 1e308, 1.0},
    {"log1p", [](long double x) { return std::log1p(x); }, -1, 1e4, 2.0, -1, 1e6, 2.0},
    {"tanh", [](long double x) { return std::tanh(x); }, -12, 12, 2.0, -24, 24, 3.5},
    {"erf", [](long double x) { return std::erf(x); }, -5, 5, 2.5, -7, 7, 1.5},
    {"atan", [](long double x) { return std::atan(x); }, -100, 100, 3.0, -100, 100, 1.5},
    {"sin", [](long double x) { return std::sin(x); }, -1e5, 1e5, 1.0, -1e5, 1e5, 2.5, true},
    {"cos", [](long double x) { return std::cos(x); }, -1e5, 1e5, 1.0, -1e5, 1e5, 2.5, true},
    {"rsqrt", [](long double x) { return 1 / std::sqrt(x); }, 0, 3e38, 1.5, 0, 1e308, 1.5},
};

TEST(VectorMath, ErrorsAreAsStated) {
  for (const Case &c : cases) {
    expectWithin<float>(c.op, c.exact, c.low32, c.high32, c.limit32, 16);
    expectWithin<double>(c.op, c.exact, c.low64, c.high64, c.limit64, 16);
  }
}

TEST(VectorMath, SmallArguments) {
  for (const Case &c : cases) {
    double low = c.low32 < 0 ? -1 : 0;
    expectWithin<float>(c.op, c.exact, low, 2, c.limit32, 4);
    expectWithin<double>(c.op, c.exact, low, 2, c.limit64, 4);
  }
}

TEST(VectorMath, SpecialValues) {
  for (const Case &c : cases) {
    if (c.isBoundedOutside)
      continue;
    expectSpecial<float>(c.op, c.exact);
    expectSpecial<double>(c.op, c.exact);
  }
}

/// Instructions that scale by powers of two change no bits, of any sign and exponent.
TEST(VectorMath, HasTheSameBitsWithScales) {
  const mlir::exec::Level &wide = *mlir::exec::findLevel("x86-64-v4");
  if (!mlir::exec::runsHere(wide))
    GTEST_SKIP() << "this machine lacks level x86-64-v4";
  constexpr int64_t batches = 64;
  constexpr uint32_t apart = uint32_t((int64_t(1) << 32) / (batches * Function::size));
  for (const char *op : {"exp", "expm1", "tanh", "erf", "sigmoid"}) {
    Function narrow(op, false), scaled(op, false, false, &wide);
    ASSERT_TRUE(narrow.isReady() && scaled.isReady());
    uint32_t next = 0;
    for (int64_t batch = 0; batch < batches; ++batch) {
      std::vector<float> x(Function::size);
      for (float &value : x)
        value = std::bit_cast<float>(next += apart);
      llvm::copy(std::array{0.0f, -0.0f, INFINITY, -INFINITY, NAN}, x.begin());
      std::vector<float> y = narrow(x), z = scaled(x);
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(std::bit_cast<uint32_t>(y[i]) == std::bit_cast<uint32_t>(z[i]) ||
                    (std::isnan(y[i]) && std::isnan(z[i])))
            << op << "(" << x[i] << ") = " << y[i] << ", scaled " << z[i];
    }
  }
}

TEST(VectorMath, SineBeyondItsRange) {
  for (const char *op : {"sin", "cos"}) {
    Function f(op, false), g(op, true);
    for (float y : f(std::vector<float>{1e6f, -1e20f, 3e38f}))
      EXPECT_LE(std::abs(y), 1);
    for (double y : g(std::vector<double>{1e6, -1e20, 1e308}))
      EXPECT_LE(std::abs(y), 1 + 1e-15);
    for (float y : f(std::vector<float>{INFINITY, -INFINITY, NAN}))
      EXPECT_TRUE(std::isnan(y));
  }
  Function f("sin", false);
  EXPECT_TRUE(std::signbit(f(std::vector<float>{-0.0f})[0]));
}

/// Puts each of the values with each at the beginning of `a` and `b`.
template <typename T>
void beginWithPairs(const std::vector<T> &values, std::vector<T> &a, std::vector<T> &b) {
  size_t at = 0;
  for (T x : values)
    for (T y : values) {
      a[at] = x;
      b[at++] = y;
    }
}

template <typename T> void expectPowers(double relativeToExponent) {
  Function f("pow", sizeof(T) == 8, true);
  ASSERT_TRUE(f.isReady());
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> base(-4, 6), exponent(-12, 12);
  std::vector<T> a(Function::size), b(Function::size);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = T(base(generator));
    b[i] = i % 3 ? T(std::round(exponent(generator))) : T(exponent(generator));
  }
  std::vector<T> special{0, T(-0.0), 1, -1, 2, -2, T(0.5), T(-0.5), 3, INFINITY, -INFINITY, NAN};
  beginWithPairs<T>(special, a, b);
  std::vector<T> y = f(a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    long double expected = std::pow((long double)a[i], (long double)b[i]);
    double limit = 1.0;
    if (sizeof(T) == 8 && std::isfinite(expected) && expected != 0)
      limit = 2 + std::abs(double(std::log(std::abs(expected)))) * relativeToExponent;
    EXPECT_LE(ulps(y[i], expected), limit) << a[i] << " ^ " << b[i] << " = " << y[i];
    if (expected == 0)
      EXPECT_EQ(std::signbit(y[i]), std::signbit(T(expected))) << a[i] << " ^ " << b[i];
  }
}

TEST(VectorMath, Powers) {
  expectPowers<float>(0);
  expectPowers<double>(2);
}

/// Remainders have no error, however large the quotient.
template <typename T> void expectRemainders() {
  using Limits = std::numeric_limits<T>;
  Function f("rem", sizeof(T) == 8, true);
  ASSERT_TRUE(f.isReady());
  std::mt19937_64 generator(5);
  std::uniform_real_distribution<double> mantissa(-2, 2);
  std::uniform_int_distribution<int> exponent(Limits::min_exponent, Limits::max_exponent - 2),
      near(-4, 60);
  std::vector<T> a(Function::size), b(Function::size);
  for (size_t i = 0; i < a.size(); ++i) {
    b[i] = std::ldexp(T(mantissa(generator)), exponent(generator));
    if (i % 3 == 0) // a multiple, rounded
      a[i] = T(std::round(mantissa(generator) * 50)) * b[i];
    else if (i % 3 == 1) // a quotient of up to 2^60
      a[i] = std::ldexp(T(mantissa(generator)), std::ilogb(b[i]) + near(generator));
    else // any quotient
      a[i] = std::ldexp(T(mantissa(generator)), exponent(generator));
  }
  std::vector<T> special{0,
                         T(-0.0),
                         1,
                         T(-1.5),
                         3,
                         T(1e10),
                         INFINITY,
                         -INFINITY,
                         NAN,
                         Limits::max(),
                         Limits::lowest(),
                         Limits::min(),
                         Limits::denorm_min()};
  beginWithPairs<T>(special, a, b);
  std::vector<T> y = f(a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    T expected = std::fmod(a[i], b[i]);
    EXPECT_TRUE(y[i] == expected || (std::isnan(y[i]) && std::isnan(expected)))
        << a[i] << " rem " << b[i] << " = " << y[i] << ", expected " << expected;
    if (expected == 0)
      EXPECT_EQ(std::signbit(y[i]), std::signbit(expected)) << a[i] << " rem " << b[i];
  }
}

TEST(VectorMath, Remainders) {
  expectRemainders<float>();
  expectRemainders<double>();
}

} // namespace
