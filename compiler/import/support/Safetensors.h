// The safetensors format: 8 bytes with the size of the header, a JSON header, the bytes of the
// tensors.
#ifndef COMPILER_IMPORT_SUPPORT_SAFETENSORS_H
#define COMPILER_IMPORT_SUPPORT_SAFETENSORS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gradc {

/// A tensor of a file.
struct SafetensorsEntry {
  std::string name, dtype; ///< the format's own: "F32"
  std::vector<int64_t> shape;
  llvm::StringRef bytes; ///< row-major, little endian; a view of the file
};

/// The tensors of a file with these bytes. An error describes the problem: "not a safetensors file:
/// ...".
llvm::Expected<std::vector<SafetensorsEntry>> readSafetensors(llvm::StringRef file);

} // namespace gradc

#endif
