// Reads the central directory of a zip archive and the members that it lists.
#include "runtime/data/source/ZipArchive.h"

#include "runtime/base/Bytes.h"
#include "runtime/base/Text.h"
#include "runtime/data/source/Inflate.h"
#include "runtime/data/source/SourceMemory.h"

#include <algorithm>
#include <zlib.h>

namespace gradc::runtime {

namespace {

// Checking a stored member takes time before the first step, so large ones, which are mapped and
// may never be read completely, are not checked.
constexpr uint64_t largestCheckedStored = uint64_t(256) << 20;

constexpr uint32_t endSignature = 0x06054b50, end64Signature = 0x06064b50,
                   locatorSignature = 0x07064b50, centralSignature = 0x02014b50,
                   localSignature = 0x04034b50;
constexpr size_t endBytes = 22, end64Bytes = 56, locatorBytes = 20, centralBytes = 46,
                 localBytes = 30;

bool fits(Bytes bytes, uint64_t offset, uint64_t length) {
  return offset <= bytes.size() && length <= bytes.size() - offset;
}

struct Directory {
  uint64_t entries, bytes, offset;
};

Result<Directory> findDirectory(Bytes archive, std::string_view what) {
  auto invalid = [&](std::string_view why) {
    return Status::error(text(what, " is not a zip archive or is truncated: ", why));
  };
  // Only a comment of up to 64 KiB may follow the end record.
  if (archive.size() < endBytes)
    return invalid("no end record");
  uint64_t end = archive.size() - endBytes;
  uint64_t lowest = end - std::min<uint64_t>(end, 0xffff);
  while (numberAt<uint32_t>(archive, end) != endSignature) {
    if (end == lowest)
      return invalid("no end record");
    --end;
  }
  Directory directory = {numberAt<uint16_t>(archive, end + 10),
                         numberAt<uint32_t>(archive, end + 12),
                         numberAt<uint32_t>(archive, end + 16)};
  bool is64 = directory.entries == 0xffff || directory.bytes == 0xffffffff ||
              directory.offset == 0xffffffff;
  if (is64 && end >= locatorBytes &&
      numberAt<uint32_t>(archive, end - locatorBytes) == locatorSignature) {
    auto end64 = numberAt<uint64_t>(archive, end - locatorBytes + 8);
    if (!fits(archive, end64, end64Bytes) || numberAt<uint32_t>(archive, end64) != end64Signature)
      return invalid("no zip64 end record");
    directory = {numberAt<uint64_t>(archive, end64 + 32), numberAt<uint64_t>(archive, end64 + 40),
                 numberAt<uint64_t>(archive, end64 + 48)};
  }
  if (!fits(archive, directory.offset, directory.bytes))
    return invalid("its directory lies outside the file");
  return directory;
}

/// The zip64 extra field holds the numbers that do not fit in 32 bits, in this order.
void applyZip64(Bytes extra, ZipMember &member) {
  while (extra.size() >= 4) {
    auto id = numberAt<uint16_t>(extra, 0);
    size_t length = numberAt<uint16_t>(extra, 2);
    if (length > extra.size() - 4)
      return;
    Bytes body = extra.subspan(4, length);
    if (id == 1)
      for (uint64_t *value : {&member.size, &member.compressedSize, &member.headerOffset})
        if (*value == 0xffffffff && body.size() >= 8) {
          *value = numberAt<uint64_t>(body, 0);
          body = body.subspan(8);
        }
    extra = extra.subspan(4 + length);
  }
}

uint32_t checksum(Bytes bytes, const MappedFile *file) {
  if (!file)
    return uint32_t(crc32_z(0, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size()));
  uLong sum = 0;
  std::vector<std::byte> piece(size_t(1) << 16);
  for (size_t begin = 0; begin < bytes.size(); begin += piece.size()) {
    size_t count = std::min(piece.size(), bytes.size() - begin);
    file->copy(bytes.data() + begin, count, piece.data());
    sum = crc32_z(sum, reinterpret_cast<const Bytef *>(piece.data()), count);
    if (begin % lettingGoBytes == 0)
      file->letGo();
  }
  return uint32_t(sum);
}

} // namespace

Result<std::vector<ZipMember>> listZip(Bytes archive, std::string_view what) {
  auto directory = findDirectory(archive, what);
  if (!directory)
    return directory.status();
  Bytes rest = archive.subspan(directory->offset, directory->bytes);
  std::vector<ZipMember> members;
  for (uint64_t i = 0; i < directory->entries; ++i) {
    auto damaged = [&] {
      return Status::error(text(what, " has a damaged directory at entry ", i));
    };
    if (rest.size() < centralBytes || numberAt<uint32_t>(rest, 0) != centralSignature)
      return damaged();
    size_t nameBytes = numberAt<uint16_t>(rest, 28), extraBytes = numberAt<uint16_t>(rest, 30),
           commentBytes = numberAt<uint16_t>(rest, 32);
    if (!fits(rest, centralBytes, nameBytes + extraBytes + commentBytes))
      return damaged();
    ZipMember member;
    member.name.assign(reinterpret_cast<const char *>(rest.data()) + centralBytes, nameBytes);
    member.crc = numberAt<uint32_t>(rest, 16);
    member.compressedSize = numberAt<uint32_t>(rest, 20);
    member.size = numberAt<uint32_t>(rest, 24);
    member.headerOffset = numberAt<uint32_t>(rest, 42);
    applyZip64(rest.subspan(centralBytes + nameBytes, extraBytes), member);

    auto flags = numberAt<uint16_t>(rest, 8), method = numberAt<uint16_t>(rest, 10);
    if (flags & 1)
      return Status::error(text("'", member.name, "' in ", what, " is encrypted"));
    if (method != 0 && method != Z_DEFLATED)
      return Status::error(text("'", member.name, "' in ", what, " has compression method ", method,
                                ", expected stored (0) or deflated (8)"));
    member.deflated = method == Z_DEFLATED;
    members.push_back(std::move(member));
    rest = rest.subspan(centralBytes + nameBytes + extraBytes + commentBytes);
  }
  return members;
}

/// A member's bytes as stored in the archive.
static Result<Bytes> findMember(Bytes archive, const ZipMember &member, std::string_view what) {
  auto outside = [&] {
    return Status::error(text("'", member.name, "' in ", what, " is truncated: expected ",
                              member.compressedSize, " bytes"));
  };
  if (!fits(archive, member.headerOffset, localBytes) ||
      numberAt<uint32_t>(archive, member.headerOffset) != localSignature)
    return outside();
  // The local header repeats the name and has its own extra fields.
  uint64_t data = member.headerOffset + localBytes +
                  numberAt<uint16_t>(archive, member.headerOffset + 26) +
                  numberAt<uint16_t>(archive, member.headerOffset + 28);
  if (!fits(archive, data, member.compressedSize))
    return outside();
  return archive.subspan(data, member.compressedSize);
}

Result<ZipContent> startZip(Bytes archive, const ZipMember &member, std::string_view what) {
  auto stored = findMember(archive, member, what);
  if (!stored)
    return stored.status();
  if (!member.deflated)
    return ZipContent{*stored, nullptr};
  constexpr size_t most = size_t(64) << 10;
  std::shared_ptr<std::byte[]> inflated(new std::byte[most]);
  size_t count = inflateStart(*stored, {inflated.get(), most}, Deflated::raw);
  return ZipContent{{inflated.get(), count}, inflated};
}

Result<ZipContent> readZip(Bytes archive, const ZipMember &member, std::string_view what,
                           const MappedFile *mapped) {
  auto found = findMember(archive, member, what);
  if (!found)
    return found.status();
  Bytes stored = *found;
  ZipContent content;
  auto damaged = [&](std::string_view why) {
    return Status::error(text("'", member.name, "' in ", what, " is damaged: ", why));
  };
  if (member.deflated) {
    if (!canInflateTo(stored, member.size))
      return damaged("impossible size");
    auto inflated = allocateForSource(member.size);
    if (!inflated)
      return Status::error(text("cannot allocate ", member.size, " bytes for '", member.name,
                                "' in ", what, ", which is compressed; stored members are mapped"));
    if (!inflateInto(stored, {inflated.get(), member.size}, Deflated::raw))
      return damaged("inflating fails");
    content = {{inflated.get(), member.size}, inflated};
  } else {
    if (member.size != member.compressedSize)
      return damaged("sizes differ");
    content = {stored, nullptr};
  }
  bool checked = member.deflated || member.size <= largestCheckedStored;
  if (checked && checksum(content.bytes, mapped) != member.crc)
    return damaged("checksum differs");
  return content;
}

} // namespace gradc::runtime
