// Uses the processor's instruction if it exists, otherwise a table, byte by byte.
#include "runtime/data/source/Crc32c.h"

#include <array>
#include <cstring>

namespace gradc::runtime {

namespace {

constexpr std::array<uint32_t, 256> makeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
    table[byte] = crc;
  }
  return table;
}

uint32_t updateByTable(uint32_t crc, std::span<const std::byte> bytes) {
  static constexpr auto table = makeTable();
  for (std::byte byte : bytes)
    crc = crc >> 8 ^ table[(crc ^ uint32_t(byte)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t updateByInstruction(uint32_t crc,
                                                               std::span<const std::byte> bytes) {
  uint64_t wide = crc;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  return updateByTable(uint32_t(wide), bytes);
}
bool hasInstruction() { return __builtin_cpu_supports("sse4.2"); }
#else
uint32_t updateByInstruction(uint32_t crc, std::span<const std::byte> bytes) {
  return updateByTable(crc, bytes);
}
bool hasInstruction() { return false; }
#endif

} // namespace

uint32_t crc32c(std::span<const std::byte> bytes) {
  return ~(hasInstruction() ? updateByInstruction : updateByTable)(~uint32_t(0), bytes);
}

} // namespace gradc::runtime
