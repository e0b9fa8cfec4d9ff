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

/// After this many bytes of batches, files release pages that were read. Reading them again costs
/// one fault per 64 KB.
constexpr size_t lettingGoBytes = size_t(8) << 20;

class MappedFile {
public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return {base, size}; }
  /// Counts the file's pages read so far as no longer needed, if they are many: they may stay in
  /// the page cache but no longer count for this process.
  void letGo() const;

private:
  MappedFile(const std::byte *base, size_t size) : base(base), size(size) {}
  const std::byte *base;
  size_t size;
};

/// A data file's path: absolute, or searched in the folders in order.
Result<std::string> findFile(std::string_view path, std::span<const std::string> folders);

/// Appends the files that a path stands for: itself or, if it has a '*', all matches in the first
/// folder with any, in the order of their names.
Status expandPath(std::string_view path, std::span<const std::string> folders,
                  std::vector<std::string> &files);

} // namespace gradc::runtime

#endif
