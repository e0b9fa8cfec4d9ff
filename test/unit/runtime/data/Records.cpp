// Writes files as TensorFlow does.
#include "test/unit/runtime/data/Records.h"

#include "runtime/data/source/Crc32c.h"

using namespace gradc::runtime;
using namespace gradc::runtime::test;

static void append(Bytes &out, const Bytes &more) {
  out.insert(out.end(), more.begin(), more.end());
}

template <typename T> static void appendNumber(Bytes &out, T number) {
  append(out, bytesOf(std::vector<T>{number}));
}

Bytes gradc::runtime::test::tfRecords(const std::vector<Bytes> &records) {
  Bytes out;
  for (const Bytes &record : records) {
    Bytes length = bytesOf(std::vector<uint64_t>{record.size()});
    append(out, length);
    appendNumber(out, maskedCrc32c(length));
    append(out, record);
    appendNumber(out, maskedCrc32c(record));
  }
  return out;
}

static void appendVarint(Bytes &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(std::byte(value | 0x80));
  out.push_back(std::byte(value));
}

/// A field that is a message, bytes or packed numbers.
static Bytes field(unsigned number, const Bytes &content) {
  Bytes out = {std::byte(number << 3 | 2)};
  appendVarint(out, content.size());
  append(out, content);
  return out;
}

Bytes gradc::runtime::test::bytesFeature(const std::vector<Bytes> &values) {
  Bytes list;
  for (const Bytes &value : values)
    append(list, field(1, value));
  return field(1, list);
}

Bytes gradc::runtime::test::floatsFeature(const std::vector<float> &values, bool packed) {
  Bytes list;
  for (float value : values) {
    if (!packed)
      list.push_back(std::byte(1 << 3 | 5));
    appendNumber(list, value);
  }
  return field(2, packed ? field(1, list) : list);
}

Bytes gradc::runtime::test::integersFeature(const std::vector<int64_t> &values, bool packed) {
  Bytes list;
  for (int64_t value : values) {
    if (!packed)
      list.push_back(std::byte(1 << 3 | 0));
    appendVarint(list, uint64_t(value));
  }
  return field(3, packed ? field(1, list) : list);
}

Bytes gradc::runtime::test::encodeExample(
    const std::vector<std::pair<std::string, Bytes>> &features) {
  Bytes entries;
  for (const auto &[name, feature] : features) {
    auto raw = reinterpret_cast<const std::byte *>(name.data());
    Bytes entry = field(1, Bytes(raw, raw + name.size()));
    append(entry, field(2, feature));
    append(entries, field(1, entry));
  }
  return field(1, entries);
}
