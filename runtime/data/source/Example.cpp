// Walks protobuf's wire format. The messages are
//   Example { Features features = 1 }   Features { map<string, Feature> feature = 1 }
//   Feature { oneof: BytesList = 1, FloatList = 2, Int64List = 3 }   each list { repeated value = 1
//   }
#include "runtime/data/source/Example.h"

#include "runtime/base/Bytes.h"
#include "runtime/base/Text.h"

#include <cstring>

namespace gradc::runtime {

namespace {

enum class WireType { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// Reads a number from the beginning; returns false if there is none.
bool takeVarint(Bytes &rest, uint64_t &value) {
  value = 0;
  for (size_t i = 0; i < rest.size() && i < 10; ++i) {
    auto byte = uint64_t(rest[i]);
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      rest = rest.subspan(i + 1);
      return true;
    }
  }
  return false;
}

/// The fields of one message, in order.
class Fields {
public:
  explicit Fields(Bytes rest) : rest(rest) {}

  /// Returns false at the end, and if the encoding is damaged.
  bool next() {
    uint64_t tag = 0;
    if (rest.empty())
      return false;
    if (!takeVarint(rest, tag))
      return fail();
    number = tag >> 3;
    type = WireType(tag & 7);
    switch (type) {
    case WireType::varint:
      return takeVarint(rest, integer) || fail();
    case WireType::fixed64:
      return take(8);
    case WireType::fixed32:
      return take(4);
    case WireType::bytes:
      return takeVarint(rest, integer) ? take(integer) : fail();
    }
    return fail();
  }
  bool isDamaged() const { return damaged; }

  uint64_t number = 0;
  WireType type = WireType::varint;
  Bytes content;        ///< of all types but varint
  uint64_t integer = 0; ///< of a varint

private:
  bool fail() {
    damaged = true;
    return false;
  }
  bool take(uint64_t size) {
    if (size > rest.size())
      return fail();
    content = rest.first(size);
    rest = rest.subspan(size);
    return true;
  }
  Bytes rest;
  bool damaged = false;
};

Status noExample() { return Status::error("is no tf.train.Example: its encoding is damaged"); }

std::string_view kindName(ExampleFeature::Kind kind) {
  constexpr std::string_view names[] = {"empty", "a list of bytes", "a list of floats",
                                        "a list of int64"};
  return names[size_t(kind)];
}

bool isMessage(const Fields &fields, uint64_t number) {
  return fields.number == number && fields.type == WireType::bytes;
}

bool parseFeature(Bytes message, ExampleFeature &feature) {
  Fields fields(message);
  while (fields.next())
    if (fields.number >= 1 && fields.number <= 3 && fields.type == WireType::bytes)
      feature = {ExampleFeature::Kind(fields.number), fields.content};
  return !fields.isDamaged();
}

/// Parses an entry of the map: field 1 is the name, field 2 the feature.
bool parseEntry(Bytes message, std::string_view wanted, bool &found, ExampleFeature &feature) {
  std::string_view name;
  Bytes value;
  Fields fields(message);
  while (fields.next())
    if (isMessage(fields, 1))
      name = {reinterpret_cast<const char *>(fields.content.data()), fields.content.size()};
    else if (isMessage(fields, 2))
      value = fields.content;
  if (fields.isDamaged())
    return false;
  if (name != wanted)
    return true;
  found = true;
  feature = {};
  return parseFeature(value, feature);
}

Status expectKind(const ExampleFeature &feature, ExampleFeature::Kind kind) {
  if (feature.kind == kind)
    return {};
  return Status::error(text("is ", kindName(feature.kind), ", expected ", kindName(kind)));
}

Status expectCount(uint64_t found, size_t expected) {
  if (found == expected)
    return {};
  return Status::error(text("has ", found, " values, expected ", expected));
}

/// Calls `take` for each value of a list of floats, packed or unpacked.
template <typename Take> bool forEachFloat(Bytes list, Take take) {
  Fields fields(list);
  while (fields.next()) {
    if (fields.number != 1)
      continue;
    bool isPacked = fields.type == WireType::bytes;
    if ((!isPacked && fields.type != WireType::fixed32) || fields.content.size() % sizeof(float))
      return false;
    for (; !fields.content.empty(); fields.content = fields.content.subspan(sizeof(float))) {
      float value;
      std::memcpy(&value, fields.content.data(), sizeof value);
      take(value);
    }
  }
  return !fields.isDamaged();
}

/// The same for int64.
template <typename Take> bool forEachInteger(Bytes list, Take take) {
  Fields fields(list);
  while (fields.next()) {
    if (fields.number != 1)
      continue;
    if (fields.type == WireType::varint)
      take(int64_t(fields.integer));
    else if (fields.type != WireType::bytes)
      return false;
    else
      for (uint64_t value = 0; !fields.content.empty(); take(int64_t(value)))
        if (!takeVarint(fields.content, value))
          return false;
  }
  return !fields.isDamaged();
}

/// Fills `out` with the values of `forEach`. `take` also counts values that do not fit, for the
/// message.
template <typename T, typename ForEach>
Status readNumbers(const ExampleFeature &feature, ExampleFeature::Kind kind, std::span<T> out,
                   ForEach forEach) {
  if (Status status = expectKind(feature, kind); !status.ok())
    return status;
  size_t count = 0;
  auto take = [&](T value) {
    if (count < out.size())
      out[count] = value;
    ++count;
  };
  if (!forEach(feature.list, take))
    return noExample();
  return expectCount(count, out.size());
}

} // namespace

Result<ExampleFeature> findFeature(Bytes example, std::string_view name) {
  ExampleFeature feature;
  bool found = false;
  Fields outer(example);
  while (outer.next()) {
    if (!isMessage(outer, 1))
      continue;
    Fields entries(outer.content);
    while (entries.next())
      if (isMessage(entries, 1) && !parseEntry(entries.content, name, found, feature))
        return noExample();
    if (entries.isDamaged())
      return noExample();
  }
  if (outer.isDamaged())
    return noExample();
  if (!found)
    return Status::error(text("has no feature '", name, "'"));
  return feature;
}

Result<Bytes> readBytes(const ExampleFeature &feature) {
  if (Status status = expectKind(feature, ExampleFeature::Kind::bytes); !status.ok())
    return status;
  Bytes value;
  uint64_t count = 0;
  Fields fields(feature.list);
  while (fields.next())
    if (isMessage(fields, 1)) {
      value = fields.content;
      ++count;
    }
  if (fields.isDamaged())
    return noExample();
  if (Status status = expectCount(count, 1); !status.ok())
    return status;
  return value;
}

Status readFloats(const ExampleFeature &feature, std::span<float> out) {
  return readNumbers(feature, ExampleFeature::Kind::floats, out,
                     [](Bytes list, auto take) { return forEachFloat(list, take); });
}

Status readIntegers(const ExampleFeature &feature, std::span<int64_t> out) {
  return readNumbers(feature, ExampleFeature::Kind::int64s, out,
                     [](Bytes list, auto take) { return forEachInteger(list, take); });
}

} // namespace gradc::runtime
