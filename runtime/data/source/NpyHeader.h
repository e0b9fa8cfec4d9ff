// The header of NumPy's .npy format.
#ifndef RUNTIME_DATA_NPYHEADER_H
#define RUNTIME_DATA_NPYHEADER_H

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
  /// Of strings: how many characters each has in the file, of 1 byte (GRADC_U8, numpy's S) or 4
  /// (GRADC_U32, numpy's U), the last dim of the shape; 0: no strings.
  int64_t characters = 0;

  /// Elements of a type that numpy does not know (its V1 and V2, of as many bytes as `dtype` has):
  /// how it writes narrow types and bf16.
  bool isOpaque = false;

  /// Whether the data lie as everything else expects them: little-endian, the last dim fastest.
  bool isPlain() const { return !bigEndian && !fortranOrder; }
};

/// A copy of the data of a header that is not plain, in plain order; null if there is no memory for
/// it.
std::shared_ptr<const std::byte[]> plainNpy(const NpyHeader &header, const std::byte *data);

/// Reads the header and checks that all the data that it announces is there: in `bytes`, or in the
/// `size` bytes that these begin. `what` names the array in messages. Arrays of strings and of
/// types that numpy does not know are refused but where the caller `takesAll`.
Result<NpyHeader> parseNpy(std::span<const std::byte> bytes, std::string_view what, uint64_t size,
                           bool takesAll = false);
inline Result<NpyHeader> parseNpy(std::span<const std::byte> bytes, std::string_view what) {
  return parseNpy(bytes, what, bytes.size());
}

} // namespace gradc::runtime

#endif
