// The header of .idx files, the format of the MNIST data.
#ifndef RUNTIME_DATA_SOURCE_IDXHEADER_H
#define RUNTIME_DATA_SOURCE_IDXHEADER_H

#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gradc::runtime {

/// Two zero bytes, the type, the rank, and one 32-bit size per dim; all numbers are big-endian.
struct IdxHeader {
  gradc_dtype dtype = GRADC_U8;
  std::vector<int64_t> shape;
  uint64_t headerBytes = 0, dataBytes = 0;
};

/// Reads the header of a plain or gzip-compressed file. `what` names the file in messages.
Result<IdxHeader> readIdxHeader(std::span<const std::byte> bytes, std::string_view what);

} // namespace gradc::runtime

#endif
