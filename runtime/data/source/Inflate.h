// Decompresses deflated bytes.
#ifndef RUNTIME_DATA_SOURCE_INFLATE_H
#define RUNTIME_DATA_SOURCE_INFLATE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>

namespace gradc::runtime {

/// The format around the deflated bytes: none, or gzip's headers and checksums.
enum class Deflated { raw, gzip };

/// Fills `out`; returns false if the data is damaged or has another size.
bool inflateInto(std::span<const std::byte> in, std::span<std::byte> out, Deflated format);

/// Inflates as much of the beginning as fits in `out`; returns the number of bytes, 0 if the data
/// is damaged.
size_t inflateStart(std::span<const std::byte> in, std::span<std::byte> out, Deflated format);

/// Inflates everything into at most `maxBytes` of memory; null if the data is damaged or does not
/// fit.
struct Inflated {
  // Not allocated by `new`, which ends a program without unwinding tables.
  struct Free {
    void operator()(std::byte *bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte[], Free> bytes;
  size_t size = 0;
};
Inflated inflateAll(std::span<const std::byte> in, size_t maxBytes, Deflated format);

/// Inflates a gzip file, which `path` names in messages, into at most `maxBytes` of memory.
Result<Inflated> inflateGzip(std::span<const std::byte> file, std::string_view path,
                             size_t maxBytes);

bool isGzip(std::span<const std::byte> bytes);

/// Whether this size is possible at all; a larger claim would only cost memory.
bool canInflateTo(std::span<const std::byte> in, uint64_t size);

} // namespace gradc::runtime

#endif
