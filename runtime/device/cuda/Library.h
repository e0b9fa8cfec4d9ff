// A CUDA library found at run time, and its prepared calls.
#ifndef RUNTIME_DEVICE_CUDA_LIBRARY_H
#define RUNTIME_DEVICE_CUDA_LIBRARY_H

#include "runtime/base/Status.h"
#include "runtime/device/cuda/Driver.h"
#include "runtime/include/gradc/artifact.h"

#include <cstdint>
#include <dlfcn.h>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime::cuda {

/// A library call with everything decided except its addresses.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;
  /// Puts the call into a stream. `slices` are the launch's; `workspace` has at least
  /// `workspaceBytes` bytes, aligned to 256.
  virtual Status enqueue(void *const *slices, void *workspace, void *stream) const = 0;

  uint64_t workspaceBytes = 0;

  /// Memory of `pieces` pieces of a slice, each with all rows of the largest batch.
  struct Padding {
    uint32_t slice;
    uint64_t pieces;
    int64_t pitch, row; ///< bytes of a piece and of a row in it
  };
  std::vector<Padding> paddings; ///< of the factors whose rows are summed over
  /// Puts into a stream the zeroing of the rows past those of the run: a call always computes the
  /// largest batch.
  Status clearPadding(const Driver &driver, int64_t rows, void *const *slices, void *stream) const;
};

/// Flags for dlopen: state that CUDA's libraries keep per thread and until the process ends must
/// survive the last session.
constexpr int keptOpen = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

/// A function of a library, and the pointer that receives its address.
struct Symbol {
  const char *name;
  void **target;
};

/// Looks functions up in a handle from dlopen; returns the name of the first missing one, or null.
const char *findSymbols(void *library, std::span<const Symbol> symbols);

/// A search for the file named by an environment variable, or the first of `files` that
/// works, of version `oldest` or newer. All function names begin with `prefix`.
struct WantedLibrary {
  const char *name, *variable, *prefix;
  std::span<const char *const> files;
  uint64_t oldest;
};

/// A library that prepares calls. Outlives its calls.
class Library {
public:
  explicit Library(const WantedLibrary &wanted) : wanted(wanted) {}
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;
  virtual ~Library();

  /// An error says what was looked for and what was found.
  Status open();
  /// Prepares the opened library for the current CUDA context.
  Status start();
  /// Opens and starts the library. If a file does not start, for example because it is newer than
  /// the driver, tries the next one.
  Status openAndStart();
  /// Prepares a call that needs at most `maxWorkspace` bytes of workspace. On failure, the error is
  /// the library's reason and `prepared` must not be used.
  virtual Status prepare(const gradc_artifact_call &call, uint64_t maxWorkspace,
                         std::unique_ptr<LibraryCall> &prepared) = 0;

  const char *name() const { return wanted.name; }
  const std::string &file() const { return path; }
  /// For example "13.1.0".
  std::string version() const;
  std::string oldestVersion() const;

  void *handle = nullptr; ///< the library's own, once it has started

private:
  /// Further symbols to look up.
  virtual std::vector<Symbol> symbols() = 0;
  Status open(bool starts);
  Status openFile(const char *file);

  const WantedLibrary wanted;
  void *object = nullptr; ///< dlopen's
  std::string path;
  uint64_t number = 0;
  int (*create)(void **handle) = nullptr;
  int (*destroy)(void *handle) = nullptr;
};

} // namespace gradc::runtime::cuda

#endif
