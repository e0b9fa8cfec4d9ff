// Writes the safetensors format: 8 bytes with the size of the header, a JSON header, the bytes of
// the tensors.
#ifndef TOOLS_GRADC_EXPORT_SAFETENSORS_H
#define TOOLS_GRADC_EXPORT_SAFETENSORS_H

#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <span>
#include <string>
#include <vector>

namespace gradc {

/// A tensor in a file: row-major, little-endian.
struct NamedArray {
  std::string name;
  gradc_dtype dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Atomic: the file is complete or absent.
runtime::Status writeSafetensors(const std::string &path, std::span<const NamedArray> arrays);

} // namespace gradc

#endif
