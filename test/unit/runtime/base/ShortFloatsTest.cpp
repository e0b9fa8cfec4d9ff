// Floats of 16 bits: every pattern, and numbers between two of them.
#include "runtime/base/ShortFloats.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <span>
#include <vector>

using namespace gradc::runtime;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float quietNan = std::numeric_limits<float>::quiet_NaN();

float above(float value) { return std::nextafter(value, infinity); }
float below(float value) { return std::nextafter(value, -infinity); }

/// The number of a finite f16, or of the f16 that would follow the largest.
float numberOfF16(uint32_t magnitude) {
  uint32_t exponent = magnitude >> 10, fraction = magnitude & 0x3ff;
  return exponent ? std::ldexp(float(0x400 + fraction), int(exponent) - 25)
                  : std::ldexp(float(fraction), -24);
}

TEST(ShortFloatsTest, EveryF16IsKept) {
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
    float value = fromF16(uint16_t(bits));
    uint32_t magnitude = bits & 0x7fff;
    ASSERT_EQ(std::signbit(value), bits >> 15) << bits;
    ASSERT_EQ(std::isnan(value), magnitude > 0x7c00) << bits;
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(fromF16(toF16(value)))) << bits;
      continue;
    }
    ASSERT_EQ(std::abs(value), magnitude == 0x7c00 ? infinity : numberOfF16(magnitude)) << bits;
    ASSERT_EQ(toF16(value), bits);
  }
}

TEST(ShortFloatsTest, EveryBf16IsKept) {
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
    float value = fromBf16(uint16_t(bits));
    ASSERT_EQ(std::isnan(value), (bits & 0x7fff) > 0x7f80) << bits;
    if (std::isnan(value))
      ASSERT_TRUE(std::isnan(fromBf16(toBf16(value)))) << bits;
    else
      ASSERT_EQ(toBf16(value), bits);
  }
}

/// Halfway between a pattern and the next one, and one step to either side.
template <typename Round> void expectRounded(float middle, uint32_t lower, Round round) {
  uint32_t even = lower + (lower & 1);
  ASSERT_EQ(round(below(middle)), lower) << lower;
  ASSERT_EQ(round(middle), even) << lower;
  ASSERT_EQ(round(above(middle)), lower + 1) << lower;
  ASSERT_EQ(round(-above(middle)), 0x8000 | (lower + 1)) << lower;
  ASSERT_EQ(round(-middle), 0x8000 | even) << lower;
  ASSERT_EQ(round(-below(middle)), 0x8000 | lower) << lower;
}

TEST(ShortFloatsTest, F16RoundsToNearestAndTiesToEven) {
  // Includes the largest f16, beyond which is infinity.
  for (uint32_t lower = 0; lower < 0x7c00; ++lower)
    expectRounded((numberOfF16(lower) + numberOfF16(lower + 1)) / 2, lower, toF16);
}

TEST(ShortFloatsTest, Bf16RoundsToNearestAndTiesToEven) {
  for (uint32_t lower = 0; lower < 0x7f80; ++lower)
    expectRounded(std::bit_cast<float>(lower << 16 | 0x8000), lower, toBf16);
}

TEST(ShortFloatsTest, LimitsOfF16) {
  EXPECT_EQ(toF16(65504), 0x7bff);
  EXPECT_EQ(toF16(65519.99f), 0x7bff);
  EXPECT_EQ(toF16(65520), 0x7c00);
  EXPECT_EQ(toF16(-65520), 0xfc00);
  EXPECT_EQ(toF16(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(toF16(0x1p-25f), 0);
  EXPECT_EQ(toF16(above(0x1p-25f)), 1);
  EXPECT_EQ(toF16(0x1p-149f), 0);
  EXPECT_EQ(toF16(below(0x1p-14f)), 0x400); // the least number that is not denormal
}

TEST(ShortFloatsTest, LimitsOfBf16) {
  EXPECT_EQ(toBf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(toBf16(std::bit_cast<float>(0x7f7f'7fffu)), 0x7f7f);
  EXPECT_EQ(toBf16(0x1p-149f), 0);
}

TEST(ShortFloatsTest, SpecialNumbers) {
  EXPECT_EQ(toF16(-0.0f), 0x8000);
  EXPECT_EQ(toBf16(-0.0f), 0x8000);
  EXPECT_EQ(toF16(infinity), 0x7c00);
  EXPECT_EQ(toBf16(infinity), 0x7f80);
  EXPECT_EQ(toF16(-infinity), 0xfc00);
  EXPECT_EQ(toBf16(-infinity), 0xff80);
  // Of a NaN whose low bits alone are set, 16 bits would be an infinity.
  for (float value : {quietNan, -quietNan, std::bit_cast<float>(0x7f80'0001u)}) {
    EXPECT_TRUE(std::isnan(fromF16(toF16(value))));
    EXPECT_TRUE(std::isnan(fromBf16(toBf16(value))));
  }
}

TEST(ShortFloatsTest, ConvertsArrays) {
  std::vector<float> values = {1.5f, -2, infinity, 0x1p-14f, 65504};
  for (gradc_dtype type : {GRADC_F16, GRADC_BF16}) {
    std::vector<uint16_t> rounded(values.size());
    roundFloats(type, std::as_bytes(std::span(values)),
                std::as_writable_bytes(std::span(rounded)).data());
    std::vector<float> widened(values.size());
    widenFloats(type, std::as_bytes(std::span(rounded)),
                std::as_writable_bytes(std::span(widened)).data());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(rounded[i], type == GRADC_F16 ? toF16(values[i]) : toBf16(values[i]));
      EXPECT_EQ(widened[i], type == GRADC_F16 ? fromF16(rounded[i]) : fromBf16(rounded[i]));
    }
  }
}

} // namespace
