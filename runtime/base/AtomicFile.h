// A file that appears completely or not at all, whatever happens during writing.
#ifndef RUNTIME_BASE_ATOMICFILE_H
#define RUNTIME_BASE_ATOMICFILE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime {

/// Writes to a temporary file next to the final name, and renames it once all bytes are on disk. If
/// destroyed before `commit`, it leaves no file behind. The permissions of a file that is replaced
/// stay.
class AtomicFile {
public:
  /// Suffix of the temporary file, which remains if the process is killed.
  static constexpr std::string_view suffix = ".tmp";

  /// The file that the path leads to if it is a symbolic link, whether or not there is one yet;
  /// else the path itself. Renaming over a link would replace it. Of links in a circle, one is
  /// returned.
  static std::string behindLinks(std::string path);

  /// Whether a file could be written at `path` now.
  static Status check(std::string path) { return AtomicFile(std::move(path)).failure; }

  /// Makes a file durable that was committed with `isDurable` = false, or a new folder.
  static Status sync(const std::string &path);

  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;

  /// The first failure is kept, and `commit` returns it.
  void write(std::span<const std::byte> bytes);
  /// The first failure so far. The last bytes written may still be in memory.
  const Status &status() const { return failure; }
  /// Brings all bytes to the disk: of several files, none is renamed before all have their bytes.
  Status settle();
  /// `isDurable`: the file survives a crash of the machine from here on, at the cost of waiting for
  /// the disk.
  Status commit(bool isDurable = true);

private:
  void fail(int code);
  void flush();

  std::string path;   ///< as given, for messages
  std::string target; ///< behind links
  std::string temporary;
  int descriptor = -1;
  std::vector<std::byte> buffer;
  Status failure;
};

} // namespace gradc::runtime

#endif
