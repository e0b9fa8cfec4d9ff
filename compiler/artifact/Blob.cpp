// Sections are aligned to 64 bytes, because the runtime maps them.
#include "compiler/artifact/Blob.h"

#include "runtime/include/gradc/hash.h"

#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace gradc;

static constexpr size_t alignment = 64;

Blob::Blob() : bytes(sizeof(gradc_artifact_header), '\0') {
  intern(""); // offset 0
}

gradc_range Blob::appendBytes(llvm::ArrayRef<char> data) {
  bytes.resize(llvm::alignTo(bytes.size(), alignment));
  gradc_range range{bytes.size(), data.size()};
  bytes.append(data.begin(), data.end());
  return range;
}

std::optional<gradc_range> Blob::find(llvm::ArrayRef<char> data) const {
  auto places = shared.find(data.size());
  if (places == shared.end())
    return std::nullopt;
  auto found =
      llvm::find_if(places->second, [&](gradc_range place) { return view(place) == data; });
  return found == places->second.end() ? std::nullopt : std::optional(*found);
}

gradc_range Blob::appendShared(llvm::ArrayRef<char> data) {
  if (std::optional<gradc_range> place = find(data))
    return *place;
  return shared[data.size()].emplace_back(appendBytes(data));
}

gradc_string Blob::intern(llvm::StringRef text) {
  auto [it, isNew] = interned.try_emplace(text, gradc_string(strings.size()));
  if (isNew) {
    strings.append(text.begin(), text.end());
    strings.push_back('\0');
  }
  return it->second;
}

std::string Blob::finish(gradc_artifact_header header) {
  header.strings = appendBytes(strings);
  bytes.resize(llvm::alignTo(bytes.size(), alignment));
  std::memcpy(header.magic, GRADC_ARTIFACT_MAGIC, sizeof header.magic);
  header.version = GRADC_ARTIFACT_VERSION;
  header.header_bytes = sizeof header;
  header.total_bytes = bytes.size();
  header.hash = gradc_hash(bytes.data() + sizeof header, bytes.size() - sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return std::move(bytes);
}
