// The tensors follow the header in its order, without gaps.
#include "tools/gradc/Safetensors.h"

#include "compiler/artifact/Artifact.h"
#include "runtime/base/DataType.h"

#include "llvm/ADT/StringExtras.h"
#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace gradc {

/// The format's names are ours in capitals: "F32", "BF16", "BOOL".
static std::string dtypeName(gradc_dtype dtype) {
  return llvm::StringRef(runtime::findDataType(dtype)->name).upper();
}

runtime::Status writeSafetensors(const std::string &path, std::span<const NamedArray> arrays) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  uint64_t offset = 0;
  for (const NamedArray &array : arrays) {
    header[array.name] = {{"dtype", dtypeName(array.dtype)},
                          {"shape", array.shape},
                          {"data_offsets", {offset, offset + array.bytes.size()}}};
    offset += array.bytes.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' '); // for the alignment of the data
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

runtime::Result<std::vector<SafetensorsEntry>> readSafetensorsHeader(std::string_view file,
                                                                     const std::string &path) {
  auto broken = [&](const std::string &why) {
    return runtime::Status::error(path + " is not a safetensors file: " + why);
  };
  uint64_t size = 0;
  if (file.size() < 8)
    return broken(fmt::format("expected 8 bytes of header size, found {}", file.size()));
  for (int i = 0; i < 8; ++i)
    size |= uint64_t(uint8_t(file[i])) << 8 * i;
  uint64_t room = file.size() - 8;
  if (size > room)
    return broken(fmt::format("the header is {} bytes long, the file has {} for it", size, room));
  auto header = nlohmann::ordered_json::parse(file.substr(8, size), nullptr, false);
  if (!header.is_object())
    return broken("the header is no JSON object");
  std::vector<SafetensorsEntry> entries;
  try {
    for (const auto &[name, value] : header.items()) {
      if (name == "__metadata__")
        continue;
      auto [begin, end] = value.at("data_offsets").get<std::pair<uint64_t, uint64_t>>();
      if (begin > end || end > room - size)
        return broken(fmt::format("tensor \"{}\" lies at {} to {}, the file has {} bytes of data",
                                  name, begin, end, room - size));
      entries.push_back({name, value.at("dtype"), value.at("shape"), end - begin});
    }
  } catch (const nlohmann::json::exception &) {
    return broken("expected dtype, shape and data_offsets for every tensor");
  }
  return entries;
}

} // namespace gradc
