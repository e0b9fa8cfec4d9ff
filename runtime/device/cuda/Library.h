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

/// One call, decided but for its addresses.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;
  /// Puts the call into a stream. `slices`: a launch's; `workspace`: at least `workspaceBytes`,
  /// aligned to 256 bytes.
  virtual Status enqueue(void *const *slices, void *workspace, void *stream) const = 0;

  uint64_t workspaceBytes = 0;

  /// Memory of `pieces` of a slice, each with all rows of the largest batch.
  struct Padding {
    uint32_t slice;
    uint64_t pieces;
    int64_t pitch, row; ///< bytes of a piece and of a row in it
  };
  std::vector<Padding> paddings; ///< of the factors whose rows are summed over
  /// Puts zeros behind the rows of a run into a stream: a call computes the largest batch.
  Status clearPadding(const Driver &driver, int64_t rows, void *const *slices, void *stream) const;
};

/// Flags for dlopen: state that CUDA's libraries keep for each thread and for the end of the
/// process must not go with the last session.
constexpr int keptOpen = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

/// A function of a library, and the pointer to set to it.
struct Symbol {
  const char *name;
  void **target;
};

/// Looks functions up in dlopen's handle; returns the name of the first missing one, or null.
const char *findSymbols(void *library, std::span<const Symbol> symbols);

/// The search: the file named by an environment variable, or the first of `files` that works, of
/// version `oldest` or newer. All its functions begin with `prefix`.
struct WantedLibrary {
  const char *name, *variable, *prefix;
  std::span<const char *const> files;
  uint64_t oldest;
};

/// A library that prepares calls. Outlives them.
class Library {
public:
  explicit Library(const WantedLibrary &wanted) : wanted(wanted) {}
  Library(const Library &) = delete;
  Library &operator=(const Library &) = delete;
  virtual ~Library();

  /// Fails with what was looked for and what was found.
  Status open();
  /// Prepares what was opened for the current CUDA context.
  Status start();
  /// Both. If a file does not start, for example because it is newer than the driver, the next one
  /// is tried.
  Status openAndStart();
  /// A call that needs at most this much workspace. Fails with the library's reason, and `prepared`
  /// must not be used then.
  virtual Status prepare(const gradc_artifact_call &call, uint64_t maxWorkspace,
                         std::unique_ptr<LibraryCall> &prepared) = 0;

  const char *name() const { return wanted.name; }
  const std::string &file() const { return path; }
  /// "13.1.0"
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
