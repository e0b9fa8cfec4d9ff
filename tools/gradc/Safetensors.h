// The safetensors format: 8 bytes with the header's size, a JSON header, the tensors' bytes.
#ifndef TOOLS_GRADC_SAFETENSORS_H
#define TOOLS_GRADC_SAFETENSORS_H

#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <span>
#include <string>
#include <vector>

namespace gradc {

/// A tensor of a file: row-major, little endian.
struct NamedArray {
  std::string name;
  gradc_dtype dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Atomic: the file is whole or absent.
runtime::Status writeSafetensors(const std::string &path, std::span<const NamedArray> arrays);

/// The entries of a header.
struct SafetensorsEntry {
  std::string name, dtype; ///< the format's own: "F32"
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
};
/// `file`: all of its bytes. `path`: for messages.
runtime::Result<std::vector<SafetensorsEntry>> readSafetensorsHeader(std::string_view file,
                                                                     const std::string &path);

} // namespace gradc

#endif
