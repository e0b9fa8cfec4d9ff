// Parses arbitrary bytes as an archive of arrays.
#include "runtime/data/source/ArraySource.h"
#include "runtime/data/source/ZipArchive.h"

using namespace gradc::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span<const std::byte> bytes(reinterpret_cast<const std::byte *>(data), size);
  unsigned sum = 0;
  auto add = [&](const Result<SourceArray> &array) {
    if (array)
      for (size_t i = 0, all = array->field.bytes() * size_t(array->rows); i < all; ++i)
        sum += unsigned(array->data[i]);
  };
  // Both as a member of an archive and alone, since a fuzzer hardly finds valid archives.
  add(makeSourceArray("a", bytes, nullptr, "f.npy"));
  if (auto members = listZip(bytes, "f.npz"))
    for (const ZipMember &member : *members)
      if (auto content = readZip(bytes, member, "f.npz"))
        add(makeSourceArray("a", content->bytes, content->inflated, "f.npz"));
  return sum == ~0u;
}
