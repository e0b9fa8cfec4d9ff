// gradc train: compiles a spec in memory, or opens an artifact, and runs the trainer on it.
#include "runtime/train/Trainer.h"
#include "tools/gradc/Command.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace gradc {

/// Whether the file carries an artifact; else it is a spec.
static bool isArtifact(llvm::StringRef path) {
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return false;
  llvm::StringRef bytes = (*buffer)->getBuffer();
  llvm::StringRef magic = GRADC_ARTIFACT_MAGIC;
  return bytes.starts_with(magic) || bytes.ends_with(magic);
}

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
  // The trainer sees its own options only.
  std::vector<char *> rest = {argv[0]};
  rest.insert(rest.end(), argv + 2, argv + argc);
  rest.push_back(nullptr);
  int count = int(rest.size()) - 1;

  if (isArtifact(file)) {
    auto artifact = Artifact::open(file);
    return artifact ? trainerMain(count, rest.data(), *artifact) : fail(artifact.status());
  }
  if (llvm::StringRef(file).ends_with(".onnx"))
    return fail(Code::usage, "expected a training spec or an artifact, found the model " + file);
  auto context = createContext();
  Console console(*context);
  CompileOptions options;
  auto imported = importFile(*context, file, options);
  if (failed(imported))
    return exitCode(Code::invalid);
  auto program = planProgram(std::move(*imported), options);
  if (failed(program))
    return exitCode(Code::invalid);
  llvm::SmallString<128> folder(file);
  llvm::sys::fs::make_absolute(folder);
  llvm::sys::path::remove_filename(folder);
  auto bytes = compileProgram(*program, folder, options);
  if (failed(bytes))
    return exitCode(Code::invalid);
  auto artifact = Artifact::fromMemory(std::as_bytes(std::span(*bytes)));
  return artifact ? trainerMain(count, rest.data(), *artifact) : fail(artifact.status());
}

} // namespace gradc
