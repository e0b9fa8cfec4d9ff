// gradc train, predict, and evaluate: compile a spec in memory, or open an artifact, and run its
// program like an executable would.
#include "runtime/ranks/Ranks.h"
#include "runtime/train/Trainer.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "runtime/train/spec/JobFiles.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Compilation.h"
#include "tools/gradc/Files.h"

#include "llvm/Support/raw_ostream.h"

namespace gradc {
using namespace runtime;

/// Prints the program's own help, preceded by the arguments that come before its options here.
static int printHelp(char **argv) {
  llvm::outs() << "usage: gradc " << argv[0]
               << " SPEC|ARTIFACT [options]; the options are the compiled program's:\n";
  llvm::outs().flush();
  char option[] = "--help", program[] = "PROGRAM";
  char *arguments[] = {program, argv[0], option, nullptr};
  return trainerMain(3, arguments, nullptr);
}

/// Reports files that are not a program, or more than one file.
static int expectProgram(llvm::StringRef command, llvm::StringRef file) {
  if (CheckpointFolder(file.str()).holdsAny() || isCheckpoint(file.str()))
    return fail(Code::usage, "a checkpoint holds weights alone: expected gradc " + command +
                                 " SPEC|ARTIFACT --checkpoint " + file);
  if (int code = expectFile(file))
    return code;
  if (file.ends_with(".onnx"))
    return fail(Code::usage, "expected a training spec or an artifact, found the model " + file +
                                 (command == "train" ? "" : ": gradc compile it first"));
  return 0;
}

int runProgram(int argc, char **argv) {
  std::string command = argv[0], file = argc > 1 ? argv[1] : "-", option = "--checkpoint";
  if (file == "--help" || file == "-h")
    return printHelp(argv);
  const std::string hint = "; see gradc " + command + " --help";
  if (file.starts_with('-'))
    return fail(Code::usage, "expected a training spec or an artifact" +
                                 (argc > 1 ? ", and options after it; found " + file : "") + hint);
  if (file.empty())
    return fail(Code::usage, "argument 'SPEC|ARTIFACT' is '', expected a value" + hint);
  if (int code = expectProgram(command, file))
    return code;
  // The program only sees its own options.
  std::vector<char *> rest = {argv[0], argv[0]};
  if (command != "train" && argc > 2 && argv[2][0] != '-')
    rest.push_back(option.data());
  rest.insert(rest.end(), argv + 2, argv + argc);
  rest.push_back(nullptr);
  int count = int(rest.size()) - 1;

  // A rank opens the artifact compiled by the process that started it.
  const char *compiled = std::getenv(artifactVariable);
  if (compiled || isArtifact(file)) {
    auto artifact = Artifact::open(compiled ? compiled : file);
    return artifact ? trainerMain(count, rest.data(), *artifact, file) : fail(artifact.status());
  }
  CompileArguments arguments;
  arguments.file = file;
  Compilation compilation(arguments);
  if (int code = compilation.import())
    return code;
  if (!compilation.imported().spec)
    return fail(Code::usage, file +
                                 " asks for gradients and trains nothing: gradc compile it, then "
                                 "gradc run the result");
  if (int code = compilation.compile(folderOf(file)))
    return code;
  auto artifact = Artifact::fromMemory(std::as_bytes(std::span(compilation.artifact())));
  return artifact ? trainerMain(count, rest.data(), *artifact, file) : fail(artifact.status());
}

} // namespace gradc
