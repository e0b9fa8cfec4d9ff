// From a model or spec to a program or an artifact.
#ifndef COMPILER_COMPILER_H
#define COMPILER_COMPILER_H

#include "compiler/Options.h"
#include "compiler/artifact/Artifact.h"
#include "compiler/codegen/Codegen.h"
#include "compiler/import/Import.h"

namespace gradc {

/// One module in planned form per level, and the machine code if requested.
struct PlannedProgram {
  Imported imported;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> levels;
};

/// A context with all dialects loaded; passes run in it one at a time.
std::unique_ptr<mlir::MLIRContext> createContext();

/// Whether the compiler recognizes the file as a program by its extension: an ONNX model (.onnx),
/// or a module of grad or exec IR (.mlir). Other files are training specs.
bool isModel(llvm::StringRef path);

/// Reads a model or a training spec. A module in planned form, with exec.entry, skips the phases
/// before that form; its kernels without a schedule get one.
mlir::FailureOr<Imported> importFile(mlir::MLIRContext &context, llvm::StringRef path,
                                     const CompileOptions &options);

/// Runs the graph, kernel, and level phases: everything up to the memory plan.
mlir::FailureOr<PlannedProgram> planProgram(Imported imported, const CompileOptions &options);

/// Generates code, and returns the artifact's bytes. `directory`: the base of the job's relative
/// paths.
mlir::FailureOr<std::string> compileProgram(PlannedProgram &program, llvm::StringRef directory,
                                            const CompileOptions &options);

/// The text or object of each level, concatenated, for `--emit=obj|asm|llvm|mlir`.
mlir::FailureOr<std::string> emitProgram(PlannedProgram &program, EmitKind kind,
                                         const CompileOptions &options);

} // namespace gradc

#endif
