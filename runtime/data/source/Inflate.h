// Decompression of deflated bytes.
#ifndef RUNTIME_DATA_INFLATE_H
#define RUNTIME_DATA_INFLATE_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

namespace gradc::runtime {

/// The format around the deflated bytes: none, or gzip's headers and checksums.
enum class Deflated { raw, gzip };

/// Fills `out`; false if the data is damaged or has another size.
bool inflateInto(std::span<const std::byte> in, std::span<std::byte> out, Deflated format);

/// Inflates as much of the beginning as fits; returns its size, 0 if the data is damaged.
size_t inflateStart(std::span<const std::byte> in, std::span<std::byte> out, Deflated format);

/// Inflates all of it into memory of at most `maxBytes`; null if it is damaged or does not fit.
struct Inflated {
  // Not of `new`, which ends a program that carries no tables for unwinding.
  struct Free {
    void operator()(std::byte *bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte[], Free> bytes;
  size_t size = 0;
};
Inflated inflateAll(std::span<const std::byte> in, size_t maxBytes, Deflated format);

bool isGzip(std::span<const std::byte> bytes);

/// Whether this size is possible at all: a larger claim would only make us allocate.
bool canInflateTo(std::span<const std::byte> in, uint64_t size);

} // namespace gradc::runtime

#endif
