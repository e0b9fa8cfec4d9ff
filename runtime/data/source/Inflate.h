// Decompression of deflated bytes whose size is known.
#ifndef RUNTIME_DATA_INFLATE_H
#define RUNTIME_DATA_INFLATE_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace gradc::runtime {

/// What stands around the deflated bytes: nothing, or the headers and checksums of gzip.
enum class Deflated { raw, gzip };

/// Fills `out`; false when the data is damaged or has another size.
bool inflateInto(std::span<const std::byte> in, std::span<std::byte> out, Deflated format);

/// Inflates the beginning, as much as fits; returns how much that is, 0 when the data is damaged.
size_t inflateStart(std::span<const std::byte> in, std::span<std::byte> out, Deflated format);

/// Whether so many bytes are possible at all: a bigger claim would only make us allocate.
bool canInflateTo(std::span<const std::byte> in, uint64_t size);

} // namespace gradc::runtime

#endif
