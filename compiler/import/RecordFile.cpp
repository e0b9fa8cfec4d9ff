// Counts rows without looking into them.
#include "compiler/import/RecordFile.h"

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

Expected<int64_t> gradc::countRecords(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return errorCodeToError(buffer.getError());
  // A record: its length (8 bytes) and a checksum (4), the data and a checksum (4). Where one does
  // not fit, the run ends the file with it.
  constexpr uint64_t around = 16;
  StringRef rest = (*buffer)->getBuffer();
  int64_t count = 0;
  while (!rest.empty()) {
    ++count;
    uint64_t length = rest.size() < around ? UINT64_MAX : support::endian::read64le(rest.data());
    if (length > rest.size() - std::min<uint64_t>(around, rest.size()))
      break;
    rest = rest.drop_front(around + length);
  }
  return count;
}
