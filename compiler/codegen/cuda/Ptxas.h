// The CUDA toolkit's assembler: the only step to a GPU that is not ours.
#ifndef COMPILER_CODEGEN_CUDA_PTXAS_H
#define COMPILER_CODEGEN_CUDA_PTXAS_H

#include "dialects/exec/Level.h"

#include "llvm/Support/Error.h"
#include <string>

namespace gradc::cuda {

/// The path of a program of the CUDA toolkit: below CUDA_HOME, CUDA_PATH, the toolkit found when
/// gradc was built, or /usr/local/cuda, or on the PATH; empty if not found.
std::string findTool(llvm::StringRef name);

/// Machine code (a cubin) for PTX text; `withText`: with the text beside it, which devices newer
/// than the level compile themselves. The error is what is missing, or ptxas' own.
llvm::Expected<std::string> assemble(llvm::StringRef ptx, const mlir::exec::Level &level,
                                     bool withText);

} // namespace gradc::cuda

#endif
