// A file that appears completely or not at all, whatever happens during writing.
#ifndef RUNTIME_BASE_ATOMICFILE_H
#define RUNTIME_BASE_ATOMICFILE_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime {

/// Writes to a temporary file next to the final name, and renames it once all bytes are on disk. If
/// destroyed before `commit`, it leaves no file behind. The permissions of a file that is replaced
/// stay. Of two that write the same file, also in two processes, one waits for the other: trainings
/// that run side by side export to the same name, unless they are told otherwise.
class AtomicFile {
public:
  /// Suffix of the temporary file, which remains if the process is killed.
  static constexpr std::string_view suffix = ".tmp";

  /// The file that the path leads to if it is a symbolic link, whether or not there is one yet;
  /// else the path itself. Renaming over a link would replace it. Of links in a circle, one is
  /// returned.
  static std::string behindLinks(std::string path);

  /// Whether a file could be written at `path`.
  static Status check(std::string path) {
    AtomicFile file(std::move(path), /*patience=*/0);
    return file.isBusy ? Status() : file.failure;
  }

  /// Makes a file durable that was committed with `isDurable` = false, or a new folder.
  static Status sync(const std::string &path);

  /// Called while another writes the file, with the milliseconds waited so far, which are multiples
  /// of 20. A failure ends the wait.
  using Waiting = std::function<Status(int64_t waited)>;

  /// `patience`: for how many milliseconds it waits for another. With `waiting`, the file is one
  /// that several always write at once: where the file system has no locks, this fails.
  explicit AtomicFile(std::string path, int64_t patience = 30'000, const Waiting &waiting = {});
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
  void openAlone(int64_t patience, const Waiting &waiting);
  Status lock(int64_t patience, const Waiting &waiting);
  void fail(int code);
  void flush();

  std::string path;   ///< as given, for messages
  std::string target; ///< behind links
  std::string temporary;
  int descriptor = -1;
  bool isBusy = false; ///< another still writes the file
  std::vector<std::byte> buffer;
  Status failure;
};

} // namespace gradc::runtime

#endif
