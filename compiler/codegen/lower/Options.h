// The options of code generation.
#ifndef COMPILER_CODEGEN_LOWER_OPTIONS_H
#define COMPILER_CODEGEN_LOWER_OPTIONS_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

#include <functional>
#include <string>

namespace gradc {

enum class EmitKind {
  image,    // a position-independent ELF shared object; CUDA: machine code together with PTX
  object,   // the same before linking: one relocatable object; CUDA: a cubin
  assembly, // the target's; CUDA: PTX
  llvm,     // LLVM IR, optimized
  mlir      // the loops, before they are lowered to LLVM
};

struct CodegenOptions {
  EmitKind emit = EmitKind::image;
  /// Verify the IR between lowering steps.
  bool verify = false;
  /// LLVM's -mcpu and -mattr; empty: the level's. Tests use them to run a level's schedule on a
  /// machine of another level.
  std::string cpu, features;
  /// The image of a CUDA level is LLVM bitcode for the simulated device. Tests only.
  bool llvmImage = false;
  /// The folder that caches machine code for CPUs between compilations; empty: no cache.
  std::string cacheDirectory;
  /// Called with the name of a phase and its seconds, over all kernels.
  std::function<void(llvm::StringRef, double)> timing;
};

} // namespace gradc

#endif
