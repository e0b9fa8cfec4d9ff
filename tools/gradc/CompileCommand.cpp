// gradc compile: a model or spec in; an executable, library, object or text out.
#include "tools/gradc/Command.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace gradc {
namespace {

/// A file that is installed beside this program.
std::string besideUs(llvm::StringRef name) {
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  llvm::SmallString<128> path(llvm::sys::path::parent_path(self));
  llvm::sys::path::append(path, name);
  return path.str().str();
}

/// The folder of a spec, absolute, so that the artifact finds its data wherever it is started.
std::string folderOf(llvm::StringRef file) {
  llvm::SmallString<128> path(file);
  llvm::sys::fs::make_absolute(path);
  return llvm::sys::path::parent_path(path).str();
}

struct Settings {
  CompileArguments compile;
  std::string output, emit = "exe";
};

int writeProgram(PlannedProgram &program, const Settings &settings) {
  auto artifact =
      compileProgram(program, folderOf(settings.compile.file), settings.compile.options);
  if (failed(artifact))
    return exitCode(Code::invalid);
  bool executable = settings.emit == "exe";
  auto runner = besideUs(executable ? "gradc-runner" : "libgradc-runner.so");
  if (auto error = writeWithRunner(runner, *artifact, settings.output, executable))
    return fail(Code::error,
                "cannot write " + settings.output + ": " + llvm::toString(std::move(error)));
  return exitCode(Code::ok);
}

int compile(Settings &settings) {
  if (int code = settings.compile.finish())
    return code;
  bool runs = settings.emit == "exe" || settings.emit == "so";
  if (!runs && settings.compile.options.levels.size() > 1)
    return fail(Code::usage,
                "--emit=" + settings.emit + " shows one level: name one with --target");
  auto context = createContext();
  Console console(*context);
  auto imported = importFile(*context, settings.compile.file, settings.compile.options);
  if (failed(imported))
    return exitCode(Code::invalid);
  auto program = planProgram(std::move(*imported), settings.compile.options);
  if (failed(program))
    return exitCode(Code::invalid);
  if (runs)
    return writeProgram(*program, settings);

  EmitKind kind = settings.emit == "obj"    ? EmitKind::object
                  : settings.emit == "asm"  ? EmitKind::assembly
                  : settings.emit == "llvm" ? EmitKind::llvm
                                            : EmitKind::mlir;
  auto text = emitProgram(*program, kind, settings.compile.options);
  if (failed(text))
    return exitCode(Code::invalid);
  if (auto error = writeFile(settings.output, {*text}, /*executable=*/false))
    return fail(Code::error,
                "cannot write " + settings.output + ": " + llvm::toString(std::move(error)));
  return exitCode(Code::ok);
}

} // namespace

void addCompile(CLI::App &app, Runner &run) {
  auto settings = std::make_shared<Settings>();
  CLI::App *command = app.add_subcommand("compile", "write an executable, library, object or text");
  settings->compile.add(*command);
  command->add_option("-o,--output", settings->output, "the file to write")->required();
  command->add_option("--emit", settings->emit, "exe|so|obj|asm|llvm|mlir")
      ->check(CLI::IsMember({"exe", "so", "obj", "asm", "llvm", "mlir"}));
  command->callback([=, &run] { run = [=] { return compile(*settings); }; });
}

} // namespace gradc
