// Machine code of kernels, kept between compilations.
#ifndef COMPILER_CODEGEN_KERNELCACHE_H
#define COMPILER_CODEGEN_KERNELCACHE_H

#include "compiler/codegen/lower/Options.h"

#include <optional>
#include <string>

namespace gradc {

/// A folder with one file for each kernel that was compiled. It speeds compiling up and changes
/// nothing else: what cannot be read, is damaged or cannot be written is compiled as if there were
/// no cache.
class KernelCache {
public:
  /// Keeps nothing where `directory` is empty, or cannot be made, or can be written by other users:
  /// what it holds is run.
  explicit KernelCache(llvm::StringRef directory);
  /// Removes the files that were not used for longest once there are more than the cache may hold.
  ~KernelCache();

  /// Where kernels are kept; empty: nowhere.
  llvm::StringRef folder() const { return directory; }

  /// Names what the kernel's object follows from: its text, the level, LLVM's options and the build
  /// of this compiler. Empty: such a kernel is not kept.
  std::string keyOf(mlir::exec::KernelOp kernel, const mlir::exec::Level &level,
                    const CodegenOptions &options) const;
  std::optional<std::string> find(llvm::StringRef key) const;
  /// Several threads and processes may store at once.
  void store(llvm::StringRef key, llvm::StringRef object) const;

private:
  std::string pathOf(llvm::StringRef key) const;

  std::string directory, build;
};

} // namespace gradc

#endif
