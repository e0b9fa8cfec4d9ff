// Fourier transforms of all lengths, of signals and of frames; windows; and the errors for wrong
// ones.
#include "dialects/Pch.h"

#include "test/unit/compiler/import/OneNode.h"

using namespace mlir;
using namespace gradc;

namespace {

class SignalTest : public OneNodeTest {};

/// 200 = 10 * 20: the transform of a wave has one line in its spectrum.
TEST_F(SignalTest, TransformsLongSignalsByTheirFactors) {
  Floats wave, spectrum(101 * 2, 0.0f);
  for (int i = 0; i < 200; ++i)
    wave.push_back(std::sin(2 * float(M_PI) * 3 * float(i) / 200));
  spectrum[3 * 2 + 1] = -100;
  auto results = run(OneNode("DFT", 20).input({1, 200, 1}, wave).set("onesided", int64_t(1)));
  ASSERT_EQ(results.size(), 1u);
  for (size_t i = 0; i < spectrum.size(); ++i)
    EXPECT_NEAR(results[0].getFloat(int64_t(i)), spectrum[i], 1e-3) << i;
}

/// A wave of frequency 5, complex or its real part.
Floats waveOf(int64_t length, int64_t parts) {
  Floats x;
  for (int64_t i = 0; i < length; ++i) {
    double angle = 2 * M_PI * 5 * double(i) / double(length);
    x.push_back(float(std::cos(angle)));
    if (parts == 2)
      x.push_back(float(std::sin(angle)));
  }
  return x;
}

OneNode transformOf(int64_t length, int64_t parts) {
  return OneNode("DFT", 20).input({1, length, parts}, waveOf(length, parts));
}

/// A wave of one frequency has one number, or, if it is real, one on each side.
void expectPeaks(const grad::HostTensor &spectrum, int64_t parts, double tolerance) {
  int64_t length = spectrum.getShape()[1];
  double peak = double(length) / (parts == 2 ? 1 : 2);
  for (int64_t k = 0; k < 2 * length; ++k) {
    bool isPeak = k == 2 * 5 || (parts == 1 && k == 2 * (length - 5));
    ASSERT_NEAR(spectrum.getFloat(k), isPeak ? peak : 0, tolerance) << k;
  }
}

TEST_F(SignalTest, TransformsAnyLength) {
  // Few numbers, and up to 70 of a large prime, are one product. 512 numbers of one row are 16 rows
  // of 32, and 32 rows of 16, whose transform is a product. Larger primes take two transforms of
  // another length: 195 for 97, and 256, 16 rows of 16, for 127.
  struct {
    int64_t length, parts, products, transforms;
  } cases[] = {{22, 2, 1, 0}, {53, 2, 1, 0}, {64, 2, 0, 1},  {72, 2, 0, 1}, {40, 1, 0, 1},
               {99, 1, 0, 1}, {97, 2, 0, 2}, {127, 2, 4, 0}, {512, 2, 1, 1}};
  for (auto c : cases) {
    SCOPED_TRACE(c.length);
    OneNode one = transformOf(c.length, c.parts);
    auto results = run(one);
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(count<grad::MatmulOp>(one), c.products);
    EXPECT_EQ(count<grad::FourierOp>(one), c.transforms);
    expectPeaks(results[0], c.parts, 1e-4 * std::max(1.0, double(c.length) / 128));
  }
  auto results = run(transformOf(4099, 2));
  ASSERT_EQ(results.size(), 1u);
  expectPeaks(results[0], 2, 1e-2);
}

/// Rows of 512 numbers fill vectors from six rows on.
TEST_F(SignalTest, ManyRowsAreOneOp) {
  OneNode rows = OneNode("DFT", 20).input({6, 512, 2});
  EXPECT_EQ(count<grad::MatmulOp>(rows), 0);
  EXPECT_EQ(count<grad::FourierOp>(rows), 1);
}

TEST_F(SignalTest, OneSideOfTheSpectrumOfRealNumbers) {
  OneNode one = transformOf(128, 1).set("onesided", int64_t(1));
  EXPECT_EQ(count<grad::MatmulOp>(one), 0);
  EXPECT_EQ(count<grad::FourierOp>(one), 1);
  auto results = run(one);
  ASSERT_EQ(results.size(), 1u);
  ASSERT_EQ(results[0].size(), 2 * 65);
  for (int64_t k = 0; k < 2 * 65; ++k)
    EXPECT_NEAR(results[0].getFloat(k), k == 2 * 5 ? 64 : 0, 1e-4) << k;
}

/// The inverse transform of real numbers is the conjugate, and the same number of times smaller.
TEST_F(SignalTest, InverseOfRealNumbers) {
  Floats sines(40);
  for (int64_t i = 0; i < 40; ++i)
    sines[i] = float(std::sin(2 * M_PI * 5 * double(i) / 40));
  auto results = run(OneNode("DFT", 20).input({1, 40, 1}, sines).set("inverse", int64_t(1)));
  ASSERT_EQ(results.size(), 1u);
  for (int64_t k = 0; k < 2 * 40; ++k)
    EXPECT_NEAR(results[0].getFloat(k),
                k == 2 * 5 + 1    ? 0.5
                : k == 2 * 35 + 1 ? -0.5
                                  : 0,
                1e-6)
        << k;
}

/// Even and odd numbers of real results. Imaginary parts at the ends have no effect.
TEST_F(SignalTest, RealNumbersFromOneSide) {
  for (int64_t length : {48, 45, 6}) {
    SCOPED_TRACE(length);
    int64_t half = length / 2 + 1, frequency = length == 6 ? 1 : 5;
    Floats spectrum(2 * half, 0.0f);
    spectrum[2 * frequency] = float(length) / 2;
    spectrum[1] = 3;
    if (length % 2 == 0)
      spectrum[2 * half - 1] = 7;
    OneNode back = OneNode("DFT", 20)
                       .input({1, half, 2}, spectrum)
                       .ints({length})
                       .set("inverse", int64_t(1))
                       .set("onesided", int64_t(1));
    EXPECT_EQ(count<grad::FourierOp>(back), length == 6 ? 0 : 1);
    auto results = run(back);
    ASSERT_EQ(results.size(), 1u);
    ASSERT_EQ(results[0].size(), length);
    for (int64_t i = 0; i < length; ++i)
      EXPECT_NEAR(results[0].getFloat(i),
                  std::cos(2 * M_PI * double(frequency * i) / double(length)), 1e-5)
          << i;
  }
}

/// Frames of 64 numbers, a whole period apart, of real and of complex waves.
TEST_F(SignalTest, TransformsFrames) {
  for (int64_t parts : {1, 2}) {
    SCOPED_TRACE(parts);
    Floats signal;
    for (int64_t i = 0; i < 96; ++i) {
      signal.push_back(float(std::cos(2 * M_PI * 4 * double(i) / 64)));
      if (parts == 2)
        signal.push_back(float(std::sin(2 * M_PI * 4 * double(i) / 64)));
    }
    OneNode one = OneNode("STFT", 17).input({1, 96, parts}, signal).ints({16}).nothing().ints({64});
    auto results = run(one.set("onesided", int64_t(parts == 1)));
    ASSERT_EQ(results.size(), 1u);
    int64_t wanted = parts == 1 ? 33 : 64;
    ASSERT_EQ(results[0].size(), 3 * wanted * 2);
    for (int64_t i = 0; i < results[0].size(); ++i)
      EXPECT_NEAR(results[0].getFloat(i), i % (2 * wanted) == 2 * 4 ? 32 * parts : 0, 1e-4) << i;
  }
}

TEST_F(SignalTest, TransformsBack) {
  // One side of the spectrum of 0, 1, 2, 3: 6, -2 + 2i, -2.
  OneNode back = OneNode("DFT", 20)
                     .input({1, 3, 2}, {6, 0, -2, 2, -2, 0})
                     .set("inverse", int64_t(1))
                     .set("onesided", int64_t(1));
  expect(back, {1, 4, 1}, {0, 1, 2, 3});
  expect(OneNode("DFT", 17).input({1, 4, 1}, {1, 0, 0, 0}).ints({2}), {1, 2, 2}, {1, 0, 1, 0});
  expectFails(OneNode("DFT", 20).input({1, 4, 3}),
              {"expected a last dim of 1 (real) or 2 (complex)"});
  expectFails(OneNode("DFT", 20).input({1, 4, 1}).nothing().ints({-1}),
              {"expected an axis before the last, found -1"});
  expectFails(OneNode("DFT", 20).input({1, 4, 2}).set("onesided", int64_t(1)),
              {"expected real numbers with onesided"});
  expectFails(OneNode("STFT", 17).input({1, 4, 1}).ints({0}).nothing().ints({2}),
              {"expected a step of at least 1 and frames that fit"});
  expectFails(OneNode("STFT", 17).input({1, 1 << 21, 1}).ints({1}).nothing().ints({1 << 21}),
              {"of at most 2^20 numbers, found 1 and 2097152"});
  expectFails(OneNode("DFT", 20).input({1, 4, 1}).ints({1 << 21}),
              {"expected a length of at least 1 and elements, found 2097152"});
  expectFails(OneNode("HannWindow", 17).ints({-1}), {"expected a size from 0 to 2^24, found -1"});
  expect(OneNode("HannWindow", 17).ints({1}).set("periodic", int64_t(0)), {1}, {1});
  expect(OneNode("HannWindow", 17).ints({1}), {1}, {0});
  expect(OneNode("HammingWindow", 17).ints({1}), {1}, {0.0869565});
  expect(OneNode("BlackmanWindow", 17).ints({1}), {1}, {0});
}

} // namespace
