// Headers of numpy's array files; an .npz is a zip archive of .npy members.
#include "compiler/import/data/ArrayFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include <zlib.h>

using namespace llvm;
using namespace gradc;

template <typename... Args> static Error error(const char *format, Args... args) {
  return createStringError(std::errc::invalid_argument, format, args...);
}

/// The text after `key` in the header's Python dict: `'descr': '<f4', ...`.
static StringRef valueOf(StringRef dict, StringRef key) {
  size_t at = dict.find(("'" + key + "'").str());
  if (at == StringRef::npos)
    return {};
  return dict.substr(at + key.size() + 2).ltrim(" :");
}

static Expected<ArrayInfo> parseNpy(StringRef bytes) {
  if (!bytes.consume_front("\x93NUMPY") || bytes.size() < 4)
    return error("expected numpy's array format");
  bool wide = uint8_t(bytes[0]) > 1;
  size_t header = wide ? 6 : 4;
  if (bytes.size() < header)
    return error("the header is cut off");
  size_t length = wide ? support::endian::read32le(bytes.data() + 2)
                       : support::endian::read16le(bytes.data() + 2);
  if (bytes.size() - header < length)
    return error("the header is cut off");
  StringRef dict = bytes.substr(header, length);
  ArrayInfo info;
  StringRef descr = valueOf(dict, "descr");
  if (!descr.consume_front("'"))
    return error("expected an array of plain numbers");
  info.dtype = descr.take_until([](char c) { return c == '\''; }).str();
  info.fortranOrder = valueOf(dict, "fortran_order").starts_with("True");
  StringRef shape = valueOf(dict, "shape");
  if (!shape.consume_front("("))
    return error("the header has no shape");
  SmallVector<StringRef> sizes;
  shape.take_until([](char c) { return c == ')'; }).split(sizes, ',', -1, /*KeepEmpty=*/false);
  for (StringRef text : sizes) {
    int64_t size;
    if (text.trim().empty())
      continue;
    if (text.trim().rtrim('L').getAsInteger(10, size) || size < 0)
      return error("expected sizes as the shape, found '%s'", text.str().c_str());
    info.shape.push_back(size);
  }
  return info;
}

Expected<ArrayInfo> gradc::readNpy(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return errorCodeToError(buffer.getError());
  return parseNpy((*buffer)->getBuffer());
}

std::string gradc::inflateStart(StringRef bytes, int windowBits, size_t most) {
  std::string out(most, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, windowBits) != Z_OK)
    return {};
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = unsigned(std::min<size_t>(bytes.size(), UINT32_MAX));
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = unsigned(out.size());
  inflate(&stream, Z_SYNC_FLUSH);
  out.resize(out.size() - stream.avail_out);
  inflateEnd(&stream);
  return out;
}

namespace {
/// One entry of the archive's central directory.
struct Member {
  StringRef name;
  uint16_t method;
  uint64_t packedSize, localHeader;
};
} // namespace

/// Walks the central directory, which the record at the archive's end points to.
static Error forEachMember(StringRef zip, function_ref<Error(const Member &)> visit) {
  using namespace support::endian;
  size_t end = zip.rfind("PK\x05\x06");
  if (end == StringRef::npos || zip.size() - end < 22)
    return error("expected a zip archive, found no directory (truncated?)");
  uint64_t count = read16le(zip.data() + end + 10), offset = read32le(zip.data() + end + 16);
  if (offset == UINT32_MAX || count == UINT16_MAX) {
    size_t end64 = zip.rfind("PK\x06\x06");
    if (end64 == StringRef::npos || zip.size() - end64 < 56)
      return error("the archive's zip64 directory is missing");
    count = read64le(zip.data() + end64 + 32);
    offset = read64le(zip.data() + end64 + 48);
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (offset > zip.size() || zip.size() - offset < 46 ||
        !zip.substr(offset).starts_with("PK\x01\x02"))
      return error("the archive's directory is damaged");
    const char *entry = zip.data() + offset;
    uint64_t nameSize = read16le(entry + 28), extraSize = read16le(entry + 30),
             commentSize = read16le(entry + 32), size = read32le(entry + 24);
    if (zip.size() - offset - 46 < nameSize + extraSize)
      return error("the archive's directory is damaged");
    Member member{zip.substr(offset + 46, nameSize), read16le(entry + 10), read32le(entry + 20),
                  read32le(entry + 42)};
    // zip64: the fields that overflow follow in the extra field, in this order.
    StringRef extra = zip.substr(offset + 46 + nameSize, extraSize);
    while (extra.size() >= 4) {
      uint16_t kind = read16le(extra.data()), length = read16le(extra.data() + 2);
      StringRef body = extra.substr(4, length);
      if (kind == 1)
        for (auto [field, marker] : {std::pair(&size, uint64_t(UINT32_MAX)),
                                     std::pair(&member.packedSize, uint64_t(UINT32_MAX)),
                                     std::pair(&member.localHeader, uint64_t(UINT32_MAX))})
          if (*field == marker && body.size() >= 8) {
            *field = read64le(body.data());
            body = body.drop_front(8);
          }
      extra = extra.drop_front(std::min<size_t>(extra.size(), 4 + length));
    }
    if (Error e = visit(member))
      return e;
    offset += 46 + nameSize + extraSize + commentSize;
  }
  return Error::success();
}

Expected<std::map<std::string, ArrayInfo>> gradc::readNpz(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return errorCodeToError(buffer.getError());
  StringRef zip = (*buffer)->getBuffer();
  std::map<std::string, ArrayInfo> arrays;
  Error failed = forEachMember(zip, [&](const Member &member) -> Error {
    using namespace support::endian;
    if (member.localHeader > zip.size() || zip.size() - member.localHeader < 30)
      return error("the archive is truncated");
    const char *local = zip.data() + member.localHeader;
    uint64_t data = member.localHeader + 30 + read16le(local + 26) + read16le(local + 28);
    if (data > zip.size() || member.packedSize > zip.size() - data)
      return error("the archive is truncated");
    StringRef packed = zip.substr(data, member.packedSize);
    if (member.method != 0 && member.method != 8)
      return error("array '%s' uses compression method %d; save it with numpy.savez",
                   member.name.str().c_str(), int(member.method));
    std::string inflated =
        member.method == 8 ? inflateStart(packed, -MAX_WBITS, 1 << 16) : std::string();
    Expected<ArrayInfo> info = parseNpy(member.method == 8 ? StringRef(inflated) : packed);
    StringRef name = member.name;
    name.consume_back(".npy");
    if (!info)
      return error("array '%s': %s", name.str().c_str(), toString(info.takeError()).c_str());
    arrays[name.str()] = *info;
    return Error::success();
  });
  if (failed)
    return std::move(failed);
  return arrays;
}
