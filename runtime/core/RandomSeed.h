// The seed of random ops.
#ifndef RUNTIME_CORE_RANDOMSEED_H
#define RUNTIME_CORE_RANDOMSEED_H

#include <cstdint>

namespace gradc::runtime {

/// The 32 bits that random ops use as their seed. Seeds 2^32 apart give different values, and seeds
/// below 2^32 give themselves: the upper half is mixed in, 0 as 0 (the last step of MurmurHash3).
constexpr int32_t randomSeed(uint64_t seed) {
  uint32_t upper = uint32_t(seed >> 32);
  upper = (upper ^ upper >> 16) * 0x85ebca6b;
  upper = (upper ^ upper >> 13) * 0xc2b2ae35;
  return int32_t(uint32_t(seed) ^ upper ^ upper >> 16);
}

} // namespace gradc::runtime

#endif
