// Walks the fields of a serialized protobuf message.
#include "compiler/import/onnx/model/WireFormat.h"

#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

static std::optional<uint64_t> readVarint(StringRef bytes, size_t &position) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && position < bytes.size(); shift += 7) {
    uint8_t byte = bytes[position++];
    value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return value;
  }
  return std::nullopt;
}

std::optional<std::string> gradc::walkFields(StringRef message,
                                             function_ref<void(const WireField &)> visit) {
  size_t position = 0;
  while (position < message.size()) {
    size_t start = position;
    auto key = readVarint(message, position);
    if (!key)
      return formatv("byte {0}: a field's number is cut off", start).str();
    WireField field{uint32_t(*key >> 3), uint32_t(*key & 7), {}};
    if (field.number == 0)
      return formatv("byte {0}: field number 0", start).str();
    uint64_t length = 0;
    switch (field.wireType) {
    case 0:
      if (!readVarint(message, position))
        return formatv("byte {0}: field {1} is cut off", start, field.number).str();
      break;
    case 1:
      length = 8;
      break;
    case 5:
      length = 4;
      break;
    case 2:
      if (auto read = readVarint(message, position))
        length = *read;
      else
        return formatv("byte {0}: field {1} is cut off", start, field.number).str();
      break;
    default:
      return formatv("byte {0}: field {1} has wire type {2}", start, field.number, field.wireType)
          .str();
    }
    if (length > message.size() - position)
      return formatv("byte {0}: field {1} has {2} bytes, {3} are left", start, field.number, length,
                     message.size() - position)
          .str();
    if (field.wireType == 2)
      field.payload = message.substr(position, length);
    position += length;
    visit(field);
  }
  return std::nullopt;
}
