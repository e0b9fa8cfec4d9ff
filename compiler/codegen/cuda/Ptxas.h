// The CUDA toolkit's assembler: the one part of the road to a GPU that is not ours.
#ifndef COMPILER_CODEGEN_CUDA_PTXAS_H
#define COMPILER_CODEGEN_CUDA_PTXAS_H

#include "dialects/exec/Level.h"

#include "llvm/Support/Error.h"
#include <string>

namespace gradc::cuda {

/// The path of a program of the CUDA toolkit: below CUDA_HOME, CUDA_PATH, the toolkit that was
/// there when gradc was built, /usr/local/cuda, or on the PATH; empty where it is nowhere.
std::string findTool(llvm::StringRef name);

/// Machine code (a cubin) of PTX text; `withText`: and the text beside it, which newer devices than
/// the level's compile themselves. The error says what is missing, or what ptxas said.
llvm::Expected<std::string> assemble(llvm::StringRef ptx, const mlir::exec::Level &level,
                                     bool withText);

} // namespace gradc::cuda

#endif
