// Code generation: the kernels of one level's module -> one image that the runtime opens.
#ifndef COMPILER_CODEGEN_CODEGEN_H
#define COMPILER_CODEGEN_CODEGEN_H

#include "compiler/codegen/lower/Options.h"

namespace gradc {

/// The kernel's name as a symbol of the image.
std::string kernelSymbol(mlir::exec::KernelOp kernel);

/// The machine code of all kernels of a level's module (for text formats, the concatenation of all
/// kernels' texts). Emits errors at kernels. Does not change the module.
llvm::FailureOr<std::string> generateImage(mlir::ModuleOp module, const mlir::exec::Level &level,
                                           const CodegenOptions &options);

} // namespace gradc

#endif
