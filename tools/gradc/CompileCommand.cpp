// gradc compile: turns a model or spec into an executable, library, object, or text.
#include "compiler/tune/Tune.h"
#include "passes/entry/ModuleLevel.h"
#include "runtime/data/image/Decode.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Compilation.h"
#include "tools/gradc/Files.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <fmt/core.h>

namespace gradc {
using namespace runtime;
namespace {

struct Settings {
  CompileArguments compile;
  std::string output, emit = "exe";
  double tuneSeconds = 0;
};

/// The program's module for the highest of its levels that this machine executes; null if there is
/// none.
mlir::ModuleOp moduleThatRuns(PlannedProgram &program) {
  mlir::ModuleOp found;
  for (auto &module : program.levels)
    if (runsHere(*namedLevel(*module)))
      found = *module;
  return found;
}

/// Measures schedules, and adds them to the tuning file or begins one. Keeps those that it has.
int tuneProgram(const Settings &settings) {
  const std::string &path = settings.compile.options.tuning;
  if (path.empty())
    return fail(Code::usage, "--tune writes a tuning file: name it with --tuning");
  CompileArguments untuned = settings.compile;
  untuned.options.tuning.clear();
  Compilation compilation(untuned);
  if (int code = compilation.plan())
    return code;
  mlir::ModuleOp module = moduleThatRuns(compilation.program());
  if (!module)
    return fail(Code::usage, "--tune measures code for this machine's CPU, and --target names only "
                             "others: expected --target=cpu");
  std::vector<std::string> read = inputFiles(settings.compile.file, compilation.program().imported);
  if (int code = expectNoneOf(path, read))
    return code;
  Tuning tuning;
  if (llvm::sys::fs::exists(path)) {
    if (int code = expectFile(path))
      return code;
    auto file = Tuning::read(&compilation.context(), path);
    if (failed(file))
      return exitCode(Code::invalid);
    tuning = std::move(*file);
  }
  auto save = [&] { return writeFile(path, {tuning.text()}, /*executable=*/false); };
  if (auto error = save()) // before time is spent
    return failToWrite(path, std::move(error));
  auto tuned = tune(module, settings.tuneSeconds, tuning, save);
  if (!tuned)
    return failToWrite(path, tuned.takeError());
  const TuneResult &result = *tuned;
  fmt::print("tuned {} of {} kernels: {} are faster, {:.2f} ms become {:.2f} on one thread\n",
             result.measured, result.measured + result.left + result.failed, result.faster,
             result.before * 1e3, result.after * 1e3);
  if (result.failed)
    fmt::print("{} kernels could not be run, or crashed with a schedule, and keep theirs\n",
               result.failed);
  if (result.otherBits)
    fmt::print("{} of them sum in another order: results differ in their last bits from those of "
               "an untuned build; {} names them\n",
               result.otherBits, path);
  return exitCode(Code::ok);
}

int writeProgram(Compilation &compilation, const Settings &settings) {
  if (int code = compilation.compile(folderOf(settings.compile.file)))
    return code;
  const Imported &imported = compilation.program().imported;
  bool executable = settings.emit == "exe";
  bool decodes = imported.decodesPictures();
  if (decodes && !canDecodePictures())
    return fail(Code::invalid,
                "the training spec decodes pictures, and this gradc was built without "
                "libjpeg and libpng: install libjpeg62-turbo-dev and libpng-dev, and "
                "build gradc again");
  bool full = imported.hasRareData() || imported.graphBytes || imported.readsParquet() ||
              (imported.spec && imported.spec->has_distribution()) ||
              llvm::any_of(compilation.options().levels,
                           [](llvm::StringRef level) { return level.starts_with("cuda:"); });
  std::string name = full ? "gradc-runner-full" : "gradc-runner";
  auto runner = runnerFile(executable ? name : "lib" + name + ".so");
  if (auto error = writeWithRunner(runner, compilation.artifact(), settings.output, executable))
    return failToWrite(settings.output, std::move(error));
  std::vector<std::string> levels;
  for (auto &level : compilation.program().levels)
    levels.push_back(levelNameOf(*level).str());
  fmt::print("wrote {}, with code for {}\n", settings.output, llvm::join(levels, " and "));
  return exitCode(Code::ok);
}

int writeText(Compilation &compilation, const Settings &settings) {
  if (int code = compilation.plan())
    return code;
  if (compilation.program().levels.size() > 1)
    return fail(Code::usage,
                "--emit=" + settings.emit + " shows one level: name one with --target");
  EmitKind kind = settings.emit == "obj"    ? EmitKind::object
                  : settings.emit == "asm"  ? EmitKind::assembly
                  : settings.emit == "llvm" ? EmitKind::llvm
                                            : EmitKind::mlir;
  auto text = emitProgram(compilation.program(), kind, compilation.options());
  if (failed(text))
    return exitCode(Code::invalid);
  if (auto error = writeFile(settings.output, {*text}, /*executable=*/false))
    return failToWrite(settings.output, std::move(error));
  return exitCode(Code::ok);
}

/// Selects levels for code that runs on most machines and is optimal on this one. A module may be
/// planned for a level already.
void setPortableLevels(CompileArguments &arguments) {
  if (!arguments.targets.empty() || llvm::StringRef(arguments.file).ends_with(".mlir"))
    return;
  arguments.options.levels.push_back("x86-64-v3");
  if (const mlir::exec::Level *native = mlir::exec::nativeLevel();
      native && native->name != "x86-64-v3")
    arguments.options.levels.push_back(native->name.str());
}

int compile(Settings settings) {
  auto begin = std::chrono::steady_clock::now();
  bool runs = settings.emit == "exe" || settings.emit == "so";
  settings.compile.takeEnvironment();
  if (runs)
    setPortableLevels(settings.compile);
  if (settings.tuneSeconds > 0)
    if (int code = tuneProgram(settings))
      return code;
  Compilation compilation(settings.compile);
  int code = compilation.import();
  if (!code) {
    std::vector<std::string> read = inputFiles(settings.compile.file, compilation.imported());
    if (const std::string &tuning = settings.compile.options.tuning; !tuning.empty())
      read.push_back(tuning);
    code = expectNoneOf(settings.output, read);
  }
  if (code)
    return code;
  code = runs ? writeProgram(compilation, settings) : writeText(compilation, settings);
  std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
  if (settings.compile.options.timing)
    fmt::print(stderr, "{:9.1f} ms  in all\n", ms.count());
  return code;
}

} // namespace

void addCompile(CLI::App &app, Runner &run) {
  auto settings = std::make_shared<Settings>();
  CLI::App *command = app.add_subcommand("compile", "write an executable, library, object or text");
  settings->compile.add(*command);
  command->add_option("-o,--output", settings->output, "the file to write")->required();
  command
      ->add_option("--tune", settings->tuneSeconds,
                   "measure schedules of kernels for so long, and add the fastest to the file of "
                   "--tuning")
      ->check(CLI::Range(1e-3, 1e6))
      ->type_name("SECONDS");
  command->add_option("--emit", settings->emit, "exe|so|obj|asm|llvm|mlir")
      ->check([](const std::string &kind) -> std::string {
        for (const char *known : {"exe", "so", "obj", "asm", "llvm", "mlir"})
          if (kind == known)
            return "";
        return "expected exe, so, obj, asm, llvm or mlir, found " + kind;
      });
  command->callback([=, &run] { run = [=] { return compile(*settings); }; });
}

} // namespace gradc
