// Checks a header before reading anything by it.
#include "compiler/import/support/Safetensors.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include <nlohmann/json.hpp>

namespace gradc {

llvm::Expected<std::vector<SafetensorsEntry>> readSafetensors(llvm::StringRef file) {
  auto broken = [](const llvm::Twine &why) {
    return llvm::createStringError("not a safetensors file: " + why);
  };
  if (file.size() < 8)
    return broken(llvm::formatv("expected 8 bytes of header size, found {0}", file.size()).str());
  uint64_t size = llvm::support::endian::read64le(file.data()), room = file.size() - 8;
  if (size > room)
    return broken(
        llvm::formatv("the header is {0} bytes long, the file has {1} for it", size, room).str());
  llvm::StringRef data = file.drop_front(8 + size);
  auto header =
      nlohmann::ordered_json::parse(file.data() + 8, file.data() + 8 + size, nullptr, false);
  if (!header.is_object())
    return broken("the header is no JSON object");
  std::vector<SafetensorsEntry> entries;
  try {
    for (const auto &[name, value] : header.items()) {
      if (name == "__metadata__")
        continue;
      auto [begin, end] = value.at("data_offsets").get<std::pair<uint64_t, uint64_t>>();
      if (begin > end || end > data.size())
        return broken(
            llvm::formatv("tensor \"{0}\" lies at {1} to {2}, the file has {3} bytes of data", name,
                          begin, end, data.size())
                .str());
      entries.push_back({name, value.at("dtype"), value.at("shape"), data.slice(begin, end)});
    }
  } catch (const nlohmann::json::exception &) {
    return broken("expected dtype, shape and data_offsets for every tensor");
  }
  return entries;
}

} // namespace gradc
