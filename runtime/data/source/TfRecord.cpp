// A record: its length (8 bytes) and the length's checksum (4), the data and its checksum (4).
#include "runtime/data/source/TfRecord.h"

#include "runtime/base/Bytes.h"
#include "runtime/base/Text.h"
#include "runtime/data/source/Crc32c.h"

namespace gradc::runtime {

namespace {

constexpr uint64_t headerBytes = 12, footerBytes = 4;

/// The length of the record's data, if all the data exists.
Result<uint64_t> readLength(Bytes file, uint64_t offset) {
  uint64_t left = file.size() - offset;
  if (left < headerBytes)
    return Status::error(
        text("is cut off: expected a header of ", headerBytes, " bytes, found ", left));
  if (maskedCrc32c(file.subspan(offset, 8)) != numberAt<uint32_t>(file, offset + 8))
    return Status::error("has a damaged header: the checksum of its length differs");
  auto length = numberAt<uint64_t>(file, offset);
  left -= headerBytes;
  if (left < footerBytes || length > left - footerBytes)
    return Status::error(
        text("is cut off: expected ", length, " bytes and a checksum, found ", left, " bytes"));
  return length;
}

} // namespace

/// Walks from record to record as long as headers are valid.
template <typename Visit> static Status forEachRecord(Bytes file, Visit visit) {
  for (uint64_t offset = 0; offset < file.size();) {
    visit(offset);
    auto length = readLength(file, offset);
    if (!length)
      return length.status();
    offset += headerBytes + *length + footerBytes;
  }
  return {};
}

std::vector<uint64_t> indexTfRecords(Bytes file) {
  std::vector<uint64_t> offsets;
  (void)forEachRecord(file, [&](uint64_t offset) { offsets.push_back(offset); });
  return offsets;
}

Status checkTfRecords(Bytes file) {
  return forEachRecord(file, [](uint64_t) {});
}

Result<Bytes> readTfRecord(Bytes file, uint64_t offset) {
  auto length = readLength(file, offset);
  if (!length)
    return length.status();
  Bytes data = file.subspan(offset + headerBytes, *length);
  if (maskedCrc32c(data) != numberAt<uint32_t>(file, offset + headerBytes + *length))
    return Status::error("is damaged: the checksum of its data differs");
  return data;
}

} // namespace gradc::runtime
