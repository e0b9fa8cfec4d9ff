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

/// Another program may cut a file off while it is mapped; reading behind its new end is then a
/// SIGBUS. Executables that want to end in good order call `outliveFault` in their handler of it.
class MappedFile {
public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string &path);
  /// From a signal handler: if a mapped file has bytes at that address, they read as zeros from now
  /// on.
  static bool outliveFault(const void *address);
  /// The file for which that happened; "": none, which costs one load to find out.
  static std::string cutOff();
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return {base, size}; }
  /// Counts the file's pages read so far as no longer needed, if they are many: they may stay in
  /// the page cache but no longer count for this process.
  void letGo() const;

private:
  struct Mapping;
  MappedFile(const std::string &path, const std::byte *base, size_t size);
  const std::byte *base;
  size_t size;
  Mapping *mapping; ///< null: an empty file
};

/// A data file's path: absolute, or searched in the folders in order.
Result<std::string> findFile(std::string_view path, std::span<const std::string> folders);

/// Appends the files that a path stands for: itself or, if it has a '*', all matches in the first
/// folder with any, in the order of their names.
Status expandPath(std::string_view path, std::span<const std::string> folders,
                  std::vector<std::string> &files);

} // namespace gradc::runtime

#endif
