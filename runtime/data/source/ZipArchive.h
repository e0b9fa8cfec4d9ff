// The members of a zip archive, including zip64; stored or deflated.
#ifndef RUNTIME_DATA_SOURCE_ZIPARCHIVE_H
#define RUNTIME_DATA_SOURCE_ZIPARCHIVE_H

#include "runtime/data/source/MappedFile.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime {

struct ZipMember {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;
  uint64_t size = 0;           ///< of the content
  uint64_t compressedSize = 0; ///< in the archive
  uint64_t headerOffset = 0;
};

/// Lists the members. `what` names the archive in messages.
Result<std::vector<ZipMember>> listZip(std::span<const std::byte> archive, std::string_view what);

/// A member's content: a view into the archive if it is stored, otherwise into `inflated`.
struct ZipContent {
  std::span<const std::byte> bytes;
  std::shared_ptr<const std::byte[]> inflated;
};
/// `mapped`: the file in which the archive is, if any, which lets go of what has been checked.
Result<ZipContent> readZip(std::span<const std::byte> archive, const ZipMember &member,
                           std::string_view what, const MappedFile *mapped = nullptr);
/// The beginning of a member's content, enough for a header: at least 64 KiB if the member has that
/// many bytes.
Result<ZipContent> startZip(std::span<const std::byte> archive, const ZipMember &member,
                            std::string_view what);

} // namespace gradc::runtime

#endif
