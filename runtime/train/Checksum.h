// XXH64 of a stream of bytes (the public algorithm by Yann Collet, seed 0).
#ifndef RUNTIME_TRAIN_CHECKSUM_H
#define RUNTIME_TRAIN_CHECKSUM_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gradc {

class Checksum {
public:
  void add(std::span<const std::byte> bytes) {
    total += bytes.size();
    if (pendingBytes + bytes.size() < sizeof pending) {
      keep(bytes);
      return;
    }
    if (pendingBytes) {
      size_t missing = sizeof pending - pendingBytes;
      keep(bytes.first(missing));
      bytes = bytes.subspan(missing);
      stripe(pending);
      pendingBytes = 0;
    }
    for (; bytes.size() >= sizeof pending; bytes = bytes.subspan(sizeof pending))
      stripe(bytes.data());
    keep(bytes);
  }

  uint64_t value() const {
    uint64_t hash = prime5;
    if (total >= sizeof pending) {
      hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
             std::rotl(lanes[3], 18);
      for (uint64_t lane : lanes)
        hash = (hash ^ round(0, lane)) * prime1 + prime4;
    }
    hash += total;
    size_t at = 0;
    for (; at + 8 <= pendingBytes; at += 8)
      hash = std::rotl(hash ^ round(0, load<uint64_t>(pending + at)), 27) * prime1 + prime4;
    for (; at + 4 <= pendingBytes; at += 4)
      hash = std::rotl(hash ^ load<uint32_t>(pending + at) * prime1, 23) * prime2 + prime3;
    for (; at < pendingBytes; ++at)
      hash = std::rotl(hash ^ uint64_t(pending[at]) * prime5, 11) * prime1;
    hash = (hash ^ hash >> 33) * prime2;
    hash = (hash ^ hash >> 29) * prime3;
    return hash ^ hash >> 32;
  }

private:
  static constexpr uint64_t prime1 = 0x9E3779B185EBCA87, prime2 = 0xC2B2AE3D27D4EB4F,
                            prime3 = 0x165667B19E3779F9, prime4 = 0x85EBCA77C2B2AE63,
                            prime5 = 0x27D4EB2F165667C5;

  template <typename T> static uint64_t load(const std::byte *bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  static uint64_t round(uint64_t lane, uint64_t input) {
    return std::rotl(lane + input * prime2, 31) * prime1;
  }
  void stripe(const std::byte *bytes) {
    for (size_t i = 0; i < 4; ++i)
      lanes[i] = round(lanes[i], load<uint64_t>(bytes + 8 * i));
  }
  void keep(std::span<const std::byte> bytes) {
    if (!bytes.empty())
      std::memcpy(pending + pendingBytes, bytes.data(), bytes.size());
    pendingBytes += bytes.size();
  }

  uint64_t lanes[4] = {prime1 + prime2, prime2, 0, -prime1};
  std::byte pending[32];
  size_t pendingBytes = 0;
  uint64_t total = 0;
};

} // namespace gradc

#endif
