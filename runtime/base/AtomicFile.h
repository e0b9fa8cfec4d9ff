// A file that appears as a whole or not at all, whatever happens while it is written.
#ifndef RUNTIME_CORE_ATOMICFILE_H
#define RUNTIME_CORE_ATOMICFILE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime {

/// Writes to a temporary file beside the final name and renames it when all bytes are on disk.
/// Destroyed before `commit`, it leaves nothing behind.
class AtomicFile {
public:
  /// Suffix of the temporary file; it stays behind if the process is killed.
  static constexpr std::string_view suffix = ".tmp";

  /// Whether a file could be written there now.
  static Status check(std::string path) { return AtomicFile(std::move(path)).failure; }

  /// Makes a file durable that was committed without.
  static Status sync(const std::string &path);

  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;

  /// The first failure is kept, and `commit` returns it.
  void write(std::span<const std::byte> bytes);
  /// `isDurable`: it outlives a crash of the machine from here on, at the cost of waiting for the
  /// disk.
  Status commit(bool isDurable = true);

private:
  void fail(int code);
  void flush();

  std::string path, temporary;
  int descriptor = -1;
  std::vector<std::byte> buffer;
  Status failure;
};

} // namespace gradc::runtime

#endif
