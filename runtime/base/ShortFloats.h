// Floats of 16 bits in memory, converted from and to f32.
#ifndef RUNTIME_BASE_SHORTFLOATS_H
#define RUNTIME_BASE_SHORTFLOATS_H

#include "runtime/include/gradc/artifact.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gradc::runtime {

inline bool isShortFloat(uint32_t dtype) { return dtype == GRADC_F16 || dtype == GRADC_BF16; }

inline float fromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// Rounds to nearest, ties to even; a NaN stays one.
inline uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float fromF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) // inf, NaN
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude < 0x400) // zero, denormal
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(magnitude) * 0x1p-24f));
  return std::bit_cast<float>(sign | ((magnitude << 13) + (uint32_t(127 - 15) << 23)));
}

/// Rounds to nearest, ties to even; a NaN stays one.
inline uint16_t toF16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) // NaN
    return uint16_t(sign | 0x7e00);
  if (magnitude >= 0x477ff000) // from 65520 on
    return uint16_t(sign | 0x7c00);
  if (magnitude < 0x38800000) { // zero, denormal: the last place of numbers from 0.5 on is 2^-24
    float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return uint16_t(sign | (std::bit_cast<uint32_t>(sum) - std::bit_cast<uint32_t>(0.5f)));
  }
  magnitude += 0xfff + (magnitude >> 13 & 1);
  return uint16_t(sign | ((magnitude - (uint32_t(127 - 15) << 23)) >> 13));
}

/// The elements of `in`, of a 16-bit float type, as f32. `out` has room for them.
inline void widenFloats(gradc_dtype type, std::span<const std::byte> in, std::byte *out) {
  for (size_t i = 0; i < in.size() / 2; ++i) {
    uint16_t bits;
    std::memcpy(&bits, in.data() + 2 * i, sizeof bits);
    float value = type == GRADC_BF16 ? fromBf16(bits) : fromF16(bits);
    std::memcpy(out + 4 * i, &value, sizeof value);
  }
}

/// The f32 elements of `in`, rounded to a 16-bit float type. `out` has room for them.
inline void roundFloats(gradc_dtype type, std::span<const std::byte> in, std::byte *out) {
  for (size_t i = 0; i < in.size() / 4; ++i) {
    float value;
    std::memcpy(&value, in.data() + 4 * i, sizeof value);
    uint16_t bits = type == GRADC_BF16 ? toBf16(value) : toF16(value);
    std::memcpy(out + 2 * i, &bits, sizeof bits);
  }
}

} // namespace gradc::runtime

#endif
