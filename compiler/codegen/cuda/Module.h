// The GPU functions of all kernels as one LLVM module, and its translations.
#ifndef COMPILER_CODEGEN_CUDA_MODULE_H
#define COMPILER_CODEGEN_CUDA_MODULE_H

#include "compiler/codegen/lower/Options.h"

namespace gradc::cuda {

/// Image, object, assembly (PTX) or optimized LLVM IR (by `options.emit`) of modules in the LLVM
/// dialect, for a CUDA level. Emits an error if ptxas is missing.
llvm::FailureOr<std::string> emitModules(llvm::ArrayRef<mlir::ModuleOp> modules,
                                         const mlir::exec::Level &level,
                                         const CodegenOptions &options);

} // namespace gradc::cuda

#endif
