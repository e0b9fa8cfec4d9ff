// Philox 4x32-10 (Salmon et al., SC 2011): random words that are a function of counter and key.
#ifndef DIALECTS_GRAD_MATH_PHILOX_H
#define DIALECTS_GRAD_MATH_PHILOX_H

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace mlir::grad {

struct Philox {
  static constexpr uint32_t multiplier0 = 0xD2511F53, multiplier1 = 0xCD9E8D57;
  static constexpr uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
  static constexpr int rounds = 10;

  static std::array<uint32_t, 4> words(std::array<uint32_t, 4> counter,
                                       std::array<uint32_t, 2> key) {
    for (int round = 0; round < rounds; ++round) {
      uint64_t p0 = uint64_t(multiplier0) * counter[0], p1 = uint64_t(multiplier1) * counter[2];
      counter = {uint32_t(p1 >> 32) ^ counter[1] ^ key[0], uint32_t(p1),
                 uint32_t(p0 >> 32) ^ counter[3] ^ key[1], uint32_t(p0)};
      key = {key[0] + weyl0, key[1] + weyl1};
    }
    return counter;
  }
};

/// Elements whose random bits are below this number are dropped.
inline uint32_t dropThreshold(double ratio) {
  return uint32_t(std::min(std::floor(ratio * 0x1p32), 0x1p32 - 1));
}

} // namespace mlir::grad

#endif
