// Counts rows without looking into them.
#include "compiler/import/data/RecordFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;

static bool isPicture(StringRef path) {
  StringRef name = sys::path::filename(path);
  return is_contained({".jpg", ".jpeg", ".png"}, sys::path::extension(name).lower()) &&
         name != sys::path::extension(name);
}

/// Calls `visit` with what lies in the folder and is not hidden.
static Error forEachEntry(StringRef folder,
                          function_ref<Error(StringRef path, sys::fs::file_type type)> visit) {
  std::error_code code;
  for (sys::fs::directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code)) {
    sys::fs::file_status status;
    if (sys::path::filename(entry->path()).starts_with(".") ||
        sys::fs::status(entry->path(), status))
      continue;
    if (Error error = visit(entry->path(), status.type()))
      return error;
  }
  return errorCodeToError(code);
}

static Error addPictures(StringRef folder, int depth, int64_t &count) {
  if (depth > 16)
    return createStringError("it has more than 16 levels of folders");
  return forEachEntry(folder, [&](StringRef path, sys::fs::file_type type) -> Error {
    if (type == sys::fs::file_type::directory_file)
      return addPictures(path, depth + 1, count);
    count += isPicture(path);
    return Error::success();
  });
}

Expected<int64_t> gradc::countPictures(StringRef folder) {
  int64_t count = 0;
  Error error = forEachEntry(folder, [&](StringRef path, sys::fs::file_type type) -> Error {
    return type == sys::fs::file_type::directory_file ? addPictures(path, 1, count)
                                                      : Error::success();
  });
  if (error)
    return error;
  return count;
}

Expected<int64_t> gradc::countListed(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return errorCodeToError(buffer.getError());
  int64_t count = 0;
  SmallVector<StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n');
  for (StringRef line : lines)
    count += !line.rtrim(" \t\r").empty() && !line.starts_with("#");
  return count;
}

/// CRC-32 with Castagnoli's polynomial, masked as TFRecord stores it. For a few bytes.
static uint32_t maskedChecksum(StringRef bytes) {
  uint32_t crc = ~uint32_t(0);
  for (uint8_t byte : bytes.bytes()) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8;
}

Expected<int64_t> gradc::countRecords(StringRef path, bool skipsBad) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return errorCodeToError(buffer.getError());
  // A record: its length (8 bytes) and a checksum (4), the data and a checksum (4). Where one does
  // not fit, the run ends the file with it.
  constexpr uint64_t header = 12, footer = 4;
  StringRef rest = (*buffer)->getBuffer();
  int64_t count = 0;
  while (!rest.empty()) {
    int64_t record = count++;
    if (rest.size() < header)
      break;
    uint64_t length = support::endian::read64le(rest.data());
    if (maskedChecksum(rest.take_front(8)) != support::endian::read32le(rest.data() + 8)) {
      if (skipsBad)
        break;
      return createStringError("record " + Twine(record) +
                               " has a damaged header: the checksum of its length differs");
    }
    rest = rest.drop_front(header);
    if (rest.size() < footer || length > rest.size() - footer)
      break;
    rest = rest.drop_front(length + footer);
  }
  return count;
}
