// The CUDA toolkit's assembler, the only external step of GPU code generation.
#ifndef COMPILER_CODEGEN_CUDA_PTXAS_H
#define COMPILER_CODEGEN_CUDA_PTXAS_H

#include "dialects/exec/Level.h"

#include "llvm/Support/Error.h"
#include <string>

namespace gradc::cuda {

/// The path of a program of the CUDA toolkit: below CUDA_HOME, CUDA_PATH, the toolkit found when
/// gradc was built, or /usr/local/cuda, or on the PATH; empty if not found.
std::string findTool(llvm::StringRef name);

/// Machine code (a cubin) for PTX text. `withText`: includes the text, which devices newer than the
/// level compile themselves. The error names what is missing, or is ptxas' own message.
llvm::Expected<std::string> assemble(llvm::StringRef ptx, const mlir::exec::Level &level,
                                     bool withText);

} // namespace gradc::cuda

#endif
