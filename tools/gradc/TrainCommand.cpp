// gradc train: compiles a spec in memory, or opens an artifact, and runs the trainer on it.
#include "runtime/train/Trainer.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Compilation.h"
#include "tools/gradc/Files.h"

#include "llvm/Support/raw_ostream.h"

namespace gradc {
using namespace runtime;

int runTrain(int argc, char **argv) {
  if (argc < 2 || argv[1][0] == '-') {
    bool help = argc > 1 && llvm::StringRef(argv[1]) == "--help";
    (help ? llvm::outs() : llvm::errs())
        << "usage: gradc train SPEC|ARTIFACT [options]; the options are the compiled trainer's:\n";
    char option[] = "--help";
    char *arguments[] = {argv[0], option, nullptr};
    int code = trainerMain(2, arguments, nullptr);
    return help ? code : exitCode(Code::usage);
  }
  std::string file = argv[1];
  // The trainer sees only its own options.
  std::vector<char *> rest = {argv[0]};
  rest.insert(rest.end(), argv + 2, argv + argc);
  rest.push_back(nullptr);
  int count = int(rest.size()) - 1;

  if (int code = expectFile(file))
    return code;
  if (isArtifact(file)) {
    auto artifact = Artifact::open(file);
    return artifact ? trainerMain(count, rest.data(), *artifact) : fail(artifact.status());
  }
  if (llvm::StringRef(file).ends_with(".onnx"))
    return fail(Code::usage, "expected a training spec or an artifact, found the model " + file);
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
  return artifact ? trainerMain(count, rest.data(), *artifact) : fail(artifact.status());
}

} // namespace gradc
