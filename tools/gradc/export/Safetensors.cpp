// Tensors follow the header in its order, without gaps.
#include "tools/gradc/export/Safetensors.h"

#include "compiler/artifact/Artifact.h"
#include "runtime/base/DataType.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include <nlohmann/json.hpp>

namespace gradc {

/// The format's type names are gradc's in capitals: "F32", "BF16", "BOOL".
static std::string dtypeName(gradc_dtype dtype) {
  return llvm::StringRef(runtime::findDataType(dtype)->name).upper();
}

runtime::Status writeSafetensors(const std::string &path, std::span<const NamedArray> arrays) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  uint64_t offset = 0;
  for (const NamedArray &array : arrays) {
    if (!llvm::json::isUTF8(array.name))
      return runtime::Status::error("cannot write " + path + ": expected names in UTF-8, found \"" +
                                    array.name + "\"");
    header[array.name] = {{"dtype", dtypeName(array.dtype)},
                          {"shape", array.shape},
                          {"data_offsets", {offset, offset + array.bytes.size()}}};
    offset += array.bytes.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' '); // aligns the data
  char size[8];
  for (int i = 0; i < 8; ++i)
    size[i] = char(uint64_t(text.size()) >> 8 * i);
  std::vector<llvm::StringRef> parts = {{size, 8}, text};
  for (const NamedArray &array : arrays)
    parts.emplace_back(reinterpret_cast<const char *>(array.bytes.data()), array.bytes.size());
  if (auto error = writeFile(path, parts, /*executable=*/false))
    return runtime::Status::error("cannot write " + path + ": " + llvm::toString(std::move(error)));
  return {};
}

} // namespace gradc
