// Writes artifacts: schedule, machine code, parameters, and job in one file.
#ifndef COMPILER_ARTIFACT_ARTIFACT_H
#define COMPILER_ARTIFACT_ARTIFACT_H

#include "compiler/import/Import.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace gradc {

/// A planned and compiled level.
struct CompiledLevel {
  mlir::ModuleOp module; ///< in planned form
  std::string image;     ///< its kernels' machine code
};

/// The bytes of the artifact (runtime/include/gradc/artifact.h). The job's relative data paths are
/// resolved from `directory`, which is recorded.
std::string writeArtifact(llvm::ArrayRef<CompiledLevel> levels, const Imported &imported,
                          llvm::StringRef directory);

/// A prelinked runner (executable or shared library) with the artifact appended.
llvm::Error writeWithRunner(llvm::StringRef runner, llvm::StringRef artifact,
                            llvm::StringRef output, bool executable);

/// Writes a file completely or not at all.
llvm::Error writeFile(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> parts, bool executable);

} // namespace gradc

#endif
