// Counter-based random numbers (Philox 4x32-10): equal for equal seed and stream, on any machine.
#ifndef RUNTIME_DATA_RANDOM_H
#define RUNTIME_DATA_RANDOM_H

#include <array>
#include <cstdint>

namespace gradc::runtime {

class Random {
public:
  Random(uint64_t seed, uint64_t stream)
      : key{uint32_t(seed), uint32_t(seed >> 32)},
        counter{0, 0, uint32_t(stream), uint32_t(stream >> 32)} {}

  /// The numbers for one row in one stage (numbered from 1). No other row, epoch, or stage uses
  /// them.
  Random(uint64_t seed, uint32_t stage, uint64_t epoch, int64_t row)
      : key{uint32_t(seed), uint32_t(seed >> 32)},
        counter{0, uint32_t(epoch), uint32_t(row), uint32_t(uint64_t(row) >> 32) ^ stage << 16},
        stage(stage) {}

  /// The numbers for the same row in another stage, from their first one on.
  Random ofStage(uint32_t other) const {
    Random random = *this;
    random.counter[0] = 0;
    random.counter[3] ^= (stage ^ other) << 16;
    random.stage = other;
    random.used = 4;
    return random;
  }

  uint32_t next() {
    if (used == 4)
      refill();
    return block[used++];
  }

  /// Uniform in [0, bound), without bias (Lemire's multiplication); bound > 0.
  uint64_t below(uint64_t bound) {
    if (bound >> 32) {
      for (uint64_t limit = -bound % bound;;) {
        auto product = static_cast<unsigned __int128>(next64()) * bound;
        if (uint64_t(product) >= limit)
          return uint64_t(product >> 64);
      }
    }
    uint64_t product = uint64_t(next()) * bound;
    if (uint32_t(product) < bound)
      for (uint32_t limit = -uint32_t(bound) % uint32_t(bound); uint32_t(product) < limit;)
        product = uint64_t(next()) * bound;
    return product >> 32;
  }

  /// Uniform in [0, 1).
  float uniform() { return float(next() >> 8) * 0x1p-24f; }
  float uniform(float low, float high) { return low + (high - low) * uniform(); }

private:
  uint64_t next64() {
    uint64_t high = next();
    return high << 32 | next();
  }

  void refill() {
    block = counter;
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
      uint64_t a = uint64_t(0xD2511F53) * block[0], b = uint64_t(0xCD9E8D57) * block[2];
      block = {uint32_t(b >> 32) ^ block[1] ^ k0, uint32_t(b), uint32_t(a >> 32) ^ block[3] ^ k1,
               uint32_t(a)};
    }
    used = 0;
    if (++counter[0] == 0)
      ++counter[1];
  }

  std::array<uint32_t, 2> key;
  std::array<uint32_t, 4> counter, block{};
  uint32_t stage = 0;
  int used = 4;
};

} // namespace gradc::runtime

#endif
