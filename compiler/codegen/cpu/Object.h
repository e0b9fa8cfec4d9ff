// The LLVM dialect -> LLVM IR -> machine code, and linking of kernels into one image.
#ifndef COMPILER_CODEGEN_CPU_OBJECT_H
#define COMPILER_CODEGEN_CPU_OBJECT_H

#include "compiler/codegen/lower/Options.h"
#include "llvm/Support/Error.h"

namespace gradc::cpu {

/// Object code, assembly or optimized LLVM IR (by `options.emit`) of a module in the LLVM dialect.
/// Several threads may call it on different modules.
llvm::FailureOr<std::string> emitObject(mlir::ModuleOp module, const mlir::exec::Level &level,
                                        const CodegenOptions &options);

/// Links objects into a shared object without dependencies, or (`relocatable`) into one object. The
/// error is the linker's.
llvm::Expected<std::string> link(llvm::ArrayRef<std::string> objects, bool relocatable);

} // namespace gradc::cpu

#endif
