// A compilation, shared by the commands: its options, and its steps with their exit codes.
#ifndef TOOLS_GRADC_COMPILATION_H
#define TOOLS_GRADC_COMPILATION_H

#include "compiler/Compiler.h"
#include "tools/gradc/Console.h"

#include <CLI/CLI.hpp>

namespace gradc {

/// The options of all commands that compile.
struct CompileArguments {
  std::string file;
  std::vector<std::string> shapes, entryShapes, targets, buckets;
  std::optional<std::string> memoryBudgetMb;
  bool oneBucket = false; ///< an entry for the largest batch alone
  CompileOptions options;

  /// `what`: a description of the files that the command accepts.
  void add(CLI::App &command,
           const char *what = "an ONNX model (.onnx), a training spec or a module (.mlir)");
  /// Takes the targets from GRADC_TARGET if there is no --target.
  void takeEnvironment();
  /// Reads shapes, targets and buckets, and creates the dump folder. Returns 0, or an exit code
  /// after printing the error.
  int finish();
  /// Refuses options that an artifact or a spec would ignore. Returns like `finish`.
  int expectNoneForArtifact() const;
  int expectNoneForSpec() const;

private:
  int readShapes();
  /// The options that `add` has declared, and the file argument.
  std::vector<const CLI::Option *> accepted;
};

/// Each step includes the previous ones. It returns 0, or an exit code after printing the error.
class Compilation {
public:
  explicit Compilation(const CompileArguments &arguments) : arguments(arguments) {}

  int import();
  int plan();
  /// `directory`: the base of the job's relative paths.
  int compile(llvm::StringRef directory);

  mlir::MLIRContext &context() { return *theContext; }
  CompileOptions &options() { return arguments.options; }
  /// Valid after `import`, until `plan` moves it into the program.
  Imported &imported() { return *theImported; }
  PlannedProgram &program() { return *theProgram; }
  std::string &artifact() { return *theArtifact; }

private:
  CompileArguments arguments;
  std::unique_ptr<mlir::MLIRContext> theContext = createContext();
  Console console{*theContext};
  std::optional<Imported> theImported;
  std::optional<PlannedProgram> theProgram;
  std::optional<std::string> theArtifact;
};

/// Whether the file is an artifact or contains one.
bool isArtifact(llvm::StringRef path);

/// The folder that caches machine code between compilations: GRADC_CACHE_DIR, which may be empty
/// (no cache), or gradc's folder among the user's caches.
std::string cacheFolder();

/// The path of a runner: next to this program in a build, in ../lib/gradc if installed.
std::string runnerFile(llvm::StringRef name);

/// The absolute folder of a spec, so that the artifact finds its data from any current folder.
std::string folderOf(llvm::StringRef file);

} // namespace gradc

#endif
