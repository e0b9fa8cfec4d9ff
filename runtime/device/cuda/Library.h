// A library of CUDA's that is found at run time, and calls of it that were prepared once.
#ifndef RUNTIME_DEVICE_CUDA_LIBRARY_H
#define RUNTIME_DEVICE_CUDA_LIBRARY_H

#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <cstdint>
#include <dlfcn.h>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradc::runtime::cuda {

/// One call with all but its addresses decided.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;
  /// Puts the call into a stream. `slices`: a launch's; `workspace`: at least `workspaceBytes`,
  /// aligned to 256 bytes.
  virtual Status enqueue(void *const *slices, void *workspace, void *stream) const = 0;

  uint64_t workspaceBytes = 0;
};

/// Flags for dlopen: what CUDA's libraries keep for each thread and for the process' end must not
/// go with the last session.
constexpr int keptOpen = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

/// A function of a library, and the pointer that is to lead there.
struct Symbol {
  const char *name;
  void **target;
};

/// Looks functions up in what dlopen gave; the name of the first that is not there, or null.
const char *findSymbols(void *library, std::span<const Symbol> symbols);

/// What is looked for: the file that an environment variable names, or the first of `files` that
/// serves; of version `oldest` or newer. All its functions begin with `prefix`.
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

  /// The failure says what was looked for and what was found.
  Status open();
  /// Prepares what was opened for the current CUDA context.
  Status start();
  /// Both. A file that does not start, since it is newer than the driver, say, makes room for the
  /// next.
  Status openAndStart();
  /// A call that needs at most so much workspace; the failure says why the library has none, and
  /// then `prepared` is not to be used.
  virtual Status prepare(const gradc_artifact_call &call, uint64_t maxWorkspace,
                         std::unique_ptr<LibraryCall> &prepared) = 0;

  const char *name() const { return wanted.name; }
  const std::string &file() const { return path; }
  /// "13.1.0"
  std::string version() const;
  std::string oldestVersion() const;

  void *handle = nullptr; ///< the library's own, once it has started

private:
  /// What else is looked up.
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
