// A file's bytes, mapped for reading.
#ifndef RUNTIME_DATA_SOURCE_MAPPEDFILE_H
#define RUNTIME_DATA_SOURCE_MAPPEDFILE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime {

/// After this many bytes of batches or of a checksum, files release pages that have been read.
/// Reading them again costs one fault per 64 KB.
constexpr size_t lettingGoBytes = size_t(1) << 20;

/// Another program may truncate a file while it is mapped; reading past its new end raises SIGBUS.
/// Executables that want to exit cleanly call `outliveFault` in their handler.
class MappedFile {
public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string &path);
  /// Called by a signal handler: if a mapped file has bytes at that address, they read as zeros
  /// from now on.
  static bool outliveFault(const void *address);
  /// Fails if that has happened to a file, since what was read may be such zeros. The check costs
  /// one load.
  static Status expectWhole();
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return {base, size}; }
  /// Copies bytes of the file, or of memory in its place. Long runs are read instead of mapped:
  /// Linux maps a file's cached pages in blocks of up to 2 MB, which count for this process.
  void copy(const std::byte *from, size_t count, std::byte *to) const;
  /// If many pages have been read, marks them as no longer needed: they may stay in the page cache
  /// but no longer count for this process.
  void letGo() const;

private:
  struct Mapping;
  MappedFile(const std::string &path, const std::byte *base, size_t size, int descriptor);
  const std::byte *base;
  size_t size;
  int descriptor;   ///< -1: closed
  Mapping *mapping; ///< null: an empty file
};

/// The path of a file in a folder; "": the current folder.
std::string joinPath(std::string_view folder, std::string_view name);

/// The path of a data file: absolute, or searched for in the folders in order.
Result<std::string> findFile(std::string_view path, std::span<const std::string> folders);

/// Appends the files that a path matches: the path itself or, if it contains '*', all matches in
/// the first folder with any, in the order of their names.
Status expandPath(std::string_view path, std::span<const std::string> folders,
                  std::vector<std::string> &files);

} // namespace gradc::runtime

#endif
