// The header of NumPy's .npy format.
#ifndef RUNTIME_DATA_SOURCE_NPYHEADER_H
#define RUNTIME_DATA_SOURCE_NPYHEADER_H

#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace gradc::runtime {

struct NpyHeader {
  gradc_dtype dtype = GRADC_F32;
  std::vector<int64_t> shape;
  size_t dataOffset = 0;
  size_t dataBytes = 0;
  bool bigEndian = false, fortranOrder = false;
  /// For strings, the number of characters per string in the file, the last dim of the shape.
  /// Characters have 1 byte (GRADC_U8, numpy's S) or 4 (GRADC_U32, numpy's U). 0 for other types.
  int64_t characters = 0;

  /// Elements of a type that numpy does not know, stored as V1 or V2 with the size of `dtype`:
  /// numpy's form of narrow types and bf16.
  bool isOpaque = false;

  /// Whether the data have the expected order: little-endian, the last dim fastest.
  bool isPlain() const { return !bigEndian && !fortranOrder; }
};

/// A copy of non-plain data in plain order; null if memory is exhausted.
std::shared_ptr<const std::byte[]> plainNpy(const NpyHeader &header, const std::byte *data);

/// Reads the header, and checks that all of its data is present in `bytes`, or in the `size` bytes
/// of which these are the beginning. `what` names the array in messages. Strings and types that
/// numpy does not know are refused unless the caller `takesAll`.
Result<NpyHeader> parseNpy(std::span<const std::byte> bytes, std::string_view what, uint64_t size,
                           bool takesAll = false);
inline Result<NpyHeader> parseNpy(std::span<const std::byte> bytes, std::string_view what) {
  return parseNpy(bytes, what, bytes.size());
}

} // namespace gradc::runtime

#endif
