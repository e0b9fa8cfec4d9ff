// Numbers in files, which are little-endian like the machine.
#ifndef RUNTIME_BASE_BYTES_H
#define RUNTIME_BASE_BYTES_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gradc::runtime {

using Bytes = std::span<const std::byte>;

/// The caller must have checked the bounds.
template <typename T> T numberAt(Bytes bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

} // namespace gradc::runtime

#endif
