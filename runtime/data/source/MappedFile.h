// A file's bytes, mapped for reading.
#ifndef RUNTIME_DATA_MAPPEDFILE_H
#define RUNTIME_DATA_MAPPEDFILE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime {

/// After so many bytes of batches files let go of what was read. Pages that are read anew cost a
/// fault for 64 KB each.
constexpr size_t lettingGoBytes = size_t(8) << 20;

class MappedFile {
public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return {base, size}; }
  /// Counts what was read of the file as no longer needed, where that is much: the page cache may
  /// have it still, this process pays for it no more.
  void letGo() const;

private:
  MappedFile(const std::byte *base, size_t size) : base(base), size(size) {}
  const std::byte *base;
  size_t size;
};

/// A data file's path: absolute, or looked up in the folders in their order.
Result<std::string> findFile(std::string_view path, std::span<const std::string> folders);

/// Appends the files that a path stands for: itself, or where it has a '*' all that match it in the
/// first folder where some do, in the order of their names.
Status expandPath(std::string_view path, std::span<const std::string> folders,
                  std::vector<std::string> &files);

} // namespace gradc::runtime

#endif
