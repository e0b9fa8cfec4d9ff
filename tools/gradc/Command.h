// What the subcommands of gradc share: each adds itself to the command line and returns an exit
// code.
#ifndef TOOLS_GRADC_COMMAND_H
#define TOOLS_GRADC_COMMAND_H

#include "compiler/Compiler.h"
#include "runtime/core/Status.h"

#include <CLI/CLI.hpp>
#include <functional>

namespace gradc {

/// Adds a subcommand; when it is chosen, `run` is set to what it does.
using Runner = std::function<int()>;
void addCheck(CLI::App &app, Runner &run);
void addCompile(CLI::App &app, Runner &run);
void addExport(CLI::App &app, Runner &run);
void addPlan(CLI::App &app, Runner &run);
void addRun(CLI::App &app, Runner &run);
void addVerify(CLI::App &app, Runner &run);
/// `gradc train` hands its arguments to the trainer, which has a command line of its own.
int runTrain(int argc, char **argv);

/// The options of every command that compiles.
struct CompileArguments {
  std::string file;
  std::vector<std::string> shapes, targets;
  CompileOptions options;

  /// `what`: the files that the command takes.
  void add(CLI::App &command, const char *what = "an ONNX model (.onnx) or a training spec");
  /// Reads shapes and targets and makes the dump folder; the exit code after having told what is
  /// wrong, or 0.
  int finish();
};

/// Prints MLIR's diagnostics for a person, for as long as it lives.
class Console {
public:
  explicit Console(mlir::MLIRContext &context);
  ~Console();

private:
  mlir::MLIRContext &context;
  mlir::DiagnosticEngine::HandlerID handler;
};

/// "gradc: error: ..." on stderr; the code.
int fail(Code code, const llvm::Twine &message);
int fail(const Status &status);

inline int exitCode(Code code) { return int(code); }

} // namespace gradc

#endif
