// All that the tools need: a model or spec in, a program or an artifact out.
#ifndef COMPILER_COMPILER_H
#define COMPILER_COMPILER_H

#include "compiler/Options.h"
#include "compiler/artifact/Artifact.h"
#include "compiler/codegen/Codegen.h"
#include "compiler/import/Import.h"

namespace gradc {

/// A module in planned form for each level, and the machine code where it was asked for.
struct PlannedProgram {
  Imported imported;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> levels;
};

/// A context with every dialect loaded; passes run in it one at a time.
std::unique_ptr<mlir::MLIRContext> createContext();

/// Reads an ONNX model (by its ending, .onnx) or a training spec.
mlir::FailureOr<Imported> importFile(mlir::MLIRContext &context, llvm::StringRef path,
                                     const CompileOptions &options);

/// Graph, kernel and level phases: everything up to the memory plan.
mlir::FailureOr<PlannedProgram> planProgram(Imported imported, const CompileOptions &options);

/// Generates code and writes the artifact's bytes. `directory`: where the job's relative paths
/// start.
mlir::FailureOr<std::string> compileProgram(PlannedProgram &program, llvm::StringRef directory,
                                            const CompileOptions &options);

/// The text or object of each level, one after the other, for `--emit=obj|asm|llvm|mlir`.
mlir::FailureOr<std::string> emitProgram(PlannedProgram &program, EmitKind kind,
                                         const CompileOptions &options);

} // namespace gradc

#endif
