// Reads references.npz, which make_references.py writes.
#include "test/unit/runtime/data/image/References.h"

#include "runtime/data/source/MappedFile.h"
#include "runtime/data/source/ZipArchive.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

template <typename T> static T need(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    std::abort();
  }
  return *result;
}

const References &References::get() {
  static const References references;
  return references;
}

References::References() {
  auto file = need(MappedFile::open(GRADC_TEST_REFERENCES));
  for (const ZipMember &member : need(listZip(file->bytes(), "references"))) {
    ZipContent content = need(readZip(file->bytes(), member, "references"));
    NpyHeader header = need(parseNpy(content.bytes, member.name));
    auto owner = std::make_shared<std::pair<decltype(file), ZipContent>>(file, content);
    arrays.push_back({member.name.substr(0, member.name.size() - 4), header,
                      content.bytes.subspan(header.dataOffset, header.dataBytes), owner});
  }
}

std::vector<std::string> References::names(const std::string &prefix) const {
  std::vector<std::string> found;
  for (const Array &array : arrays)
    if (array.name.starts_with(prefix))
      found.push_back(array.name.substr(prefix.size()));
  return found;
}

const References::Array &References::find(const std::string &name) const {
  for (const Array &array : arrays)
    if (array.name == name)
      return array;
  std::fprintf(stderr, "no reference '%s'\n", name.c_str());
  std::abort();
}

std::span<const std::byte> References::bytes(const std::string &name) const {
  return find(name).data;
}

PixelView References::view(const std::string &name) const {
  const Array &array = find(name);
  const auto &shape = array.header.shape;
  return {array.data.data(), array.header.dtype, shape[0], shape[1],
          shape.size() > 2 ? shape[2] : 1};
}

double gradc::runtime::test::valueAt(const PixelView &view, int64_t y, int64_t x, int64_t channel) {
  auto index = size_t((y * view.width + x) * view.channels + channel);
  if (view.dtype == GRADC_U8)
    return double(view.pixels[index]);
  float value;
  std::memcpy(&value, view.pixels + index * sizeof value, sizeof value);
  return double(value);
}
