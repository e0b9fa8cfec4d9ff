// Machine code of kernels, kept between compilations.
#ifndef COMPILER_CODEGEN_KERNELCACHE_H
#define COMPILER_CODEGEN_KERNELCACHE_H

#include "compiler/codegen/lower/Options.h"

#include <optional>
#include <string>

namespace gradc {

/// A folder with one file per compiled kernel. It only speeds up compiling: if a file is damaged or
/// cannot be read or written, its kernel is compiled as if there were no cache.
class KernelCache {
public:
  /// The cache is disabled if `directory` is empty, cannot be created, or is writable by other
  /// users, because its contents are executed.
  explicit KernelCache(llvm::StringRef directory);
  /// Removes the least recently used files if the cache exceeds its capacity.
  ~KernelCache();

  /// The folder of the kernels; empty if the cache is disabled.
  llvm::StringRef folder() const { return directory; }

  /// The key of everything that determines the kernel's object: its text, the level, LLVM's options
  /// and the build of this compiler. Empty if the kernel is not cached.
  std::string keyOf(mlir::exec::KernelOp kernel, const mlir::exec::Level &level,
                    const CodegenOptions &options) const;
  std::optional<std::string> find(llvm::StringRef key) const;
  /// Safe to call from several threads and processes at once.
  void store(llvm::StringRef key, llvm::StringRef object) const;

private:
  std::string pathOf(llvm::StringRef key) const;

  std::string directory, build;
};

} // namespace gradc

#endif
