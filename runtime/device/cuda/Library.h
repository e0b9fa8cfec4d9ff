// A library of CUDA's that is found at run time, and calls of it that were prepared once.
#ifndef RUNTIME_DEVICE_CUDA_LIBRARY_H
#define RUNTIME_DEVICE_CUDA_LIBRARY_H

#include "runtime/core/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gradc::cuda {

/// One call with all but its addresses decided.
class LibraryCall {
public:
  virtual ~LibraryCall() = default;
  /// Puts the call into a stream. `slices`: a launch's; `workspace`: at least `workspaceBytes`,
  /// aligned to 256 bytes.
  virtual Status enqueue(void *const *slices, void *workspace, void *stream) const = 0;

  uint64_t workspaceBytes = 0;
};

/// Prepares calls. Outlives them.
class Library {
public:
  virtual ~Library() = default;
  /// A call that needs at most so much workspace; the failure says why the library has none, and
  /// then `prepared` is not to be used.
  virtual Status prepare(const gradc_artifact_call &call, uint64_t mostWorkspace,
                         std::unique_ptr<LibraryCall> &prepared) = 0;
};

/// A function of a library, and the pointer that is to lead there.
struct Symbol {
  const char *name;
  void **target;
};

/// Looks functions up in what dlopen gave; the name of the first that is not there, or null.
const char *findSymbols(void *library, std::span<const Symbol> symbols);

/// What is looked for: the file that an environment variable names, or the first of `files` that is
/// there; of version `oldest` or newer, with all of these functions.
struct WantedLibrary {
  const char *variable;
  std::span<const char *const> files;
  const char *versionSymbol;
  uint64_t oldest;
  std::span<const Symbol> symbols;
};

/// A shared object, once it was found.
class SharedLibrary {
public:
  SharedLibrary() = default;
  SharedLibrary(const SharedLibrary &) = delete;
  SharedLibrary &operator=(const SharedLibrary &) = delete;
  ~SharedLibrary();
  /// The failure says what was looked for and what was found.
  Status open(const WantedLibrary &wanted);
  const std::string &file() const { return path; }
  uint64_t version() const { return number; }

private:
  void *handle = nullptr;
  std::string path;
  uint64_t number = 0;
};

/// "13.1.0" of 130100, as both libraries count.
std::string versionText(uint64_t number);

} // namespace gradc::cuda

#endif
