// The checksum of TFRecord files.
#ifndef RUNTIME_DATA_SOURCE_CRC32C_H
#define RUNTIME_DATA_SOURCE_CRC32C_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace gradc::runtime {

/// CRC-32 with Castagnoli's polynomial.
uint32_t crc32c(std::span<const std::byte> bytes);

/// In TFRecord's form: a plain checksum over data that contains its own checksum would be a
/// constant.
inline uint32_t maskedCrc32c(std::span<const std::byte> bytes) {
  uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

} // namespace gradc::runtime

#endif
