// One compilation, shared by the commands: its options, and its steps with their exit codes.
#ifndef TOOLS_GRADC_COMPILATION_H
#define TOOLS_GRADC_COMPILATION_H

#include "compiler/Compiler.h"
#include "tools/gradc/Console.h"

#include <CLI/CLI.hpp>

namespace gradc {

/// The options of every command that compiles.
struct CompileArguments {
  std::string file;
  std::vector<std::string> shapes, targets;
  std::optional<int64_t> memoryBudgetMb;
  bool oneBucket = false; ///< an entry for the largest batch alone
  CompileOptions options;

  /// `what`: the files that the command takes.
  void add(CLI::App &command,
           const char *what = "an ONNX model (.onnx), a training spec or a module (.mlir)");
  /// Without a --target, those of GRADC_TARGET.
  void takeEnvironment();
  /// Reads shapes and targets and makes the dump folder. Returns 0, or the exit code after it has
  /// printed the error.
  int finish();
};

/// Each step includes those before it. It returns 0, or the exit code after it has printed the
/// error.
class Compilation {
public:
  explicit Compilation(const CompileArguments &arguments) : arguments(arguments) {}

  int import();
  int plan();
  /// `directory`: where the job's relative paths start.
  int compile(llvm::StringRef directory);

  mlir::MLIRContext &context() { return *theContext; }
  CompileOptions &options() { return arguments.options; }
  /// After `import`, until `plan` moves it into the program.
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
bool isCheckpoint(llvm::StringRef path);

/// Where machine code is kept between compilations: GRADC_CACHE_DIR, which may be empty (nowhere),
/// or gradc's folder among the user's caches.
std::string cacheFolder();

/// Where a runner is: beside this program in a build, in ../lib/gradc when installed.
std::string runnerFile(llvm::StringRef name);

/// The folder of a spec, absolute, so that the artifact finds its data wherever it is started.
std::string folderOf(llvm::StringRef file);

} // namespace gradc

#endif
