// Runs the phases on one file.
#include "compiler/Compiler.h"

#include "compiler/Pipeline.h"
#include "passes/Passes.h"
#include "passes/entry/ModuleLevel.h"
#include "runtime/include/gradc/entries.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

#include <chrono>

using namespace mlir;

namespace gradc {
namespace {

void printTime(double milliseconds, const Twine &what) {
  llvm::errs() << llvm::formatv("{0,9:f1} ms  {1}\n", milliseconds, what.str());
}

/// Writes the module after each pass to its own numbered file.
struct DumpAfterEach : PassInstrumentation {
  DumpAfterEach(std::string directory, std::string phase)
      : directory(std::move(directory)), phase(std::move(phase)) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    if (directory.empty() || pass->getArgument().empty())
      return;
    std::string name = llvm::formatv("{0}-{1,0+2}-{2}.mlir", phase, count++, pass->getArgument());
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    std::error_code error;
    llvm::raw_fd_ostream out(path, error);
    if (!error) {
      op->print(out, OpPrintingFlags().elideLargeResourceString(16).elideLargeElementsAttrs(16));
      out.close();
      error = out.error();
      out.clear_error(); // or the stream ends the process
    }
    if (error) {
      op->emitError("cannot write ") << path << ": " << error.message();
      directory.clear(); // reports a full disk once
    }
  }

  std::string directory, phase;
  unsigned count = 1;
};

/// Measures the time of each pass, in the order in which passes first ran.
struct TimePasses : PassInstrumentation {
  using Clock = std::chrono::steady_clock;

  ~TimePasses() override {
    for (const auto &[pass, ms] : times)
      printTime(ms, ("  " + pass).str());
  }
  void runBeforePass(Pass *pass, Operation *) override { begun[pass] = Clock::now(); }
  void runAfterPass(Pass *pass, Operation *) override {
    if (pass->getArgument().empty()) // an adaptor; its passes are reported separately
      return;
    std::chrono::duration<double, std::milli> ms = Clock::now() - begun[pass];
    times[pass->getArgument()] += ms.count();
  }

  llvm::DenseMap<Pass *, Clock::time_point> begun;
  llvm::MapVector<StringRef, double> times;
};

using PhaseBuilder = void (*)(OpPassManager &, const CompileOptions &);

/// Measures a phase if requested.
class PhaseTimer {
public:
  PhaseTimer(StringRef name, const CompileOptions &options)
      : name(name), enabled(options.timing), start(std::chrono::steady_clock::now()) {}
  ~PhaseTimer() {
    if (!enabled)
      return;
    std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    printTime(ms.count(), name);
  }

private:
  std::string name;
  bool enabled;
  std::chrono::steady_clock::time_point start;
};

LogicalResult runPhase(ModuleOp module, StringRef name, PhaseBuilder build,
                       const CompileOptions &options) {
  PhaseTimer timer(name, options);
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.enableVerifier(true);
  build(pm, options);
  if (!options.dumpDirectory.empty()) {
    if (auto error = llvm::sys::fs::create_directories(options.dumpDirectory))
      return module.emitError("cannot make ") << options.dumpDirectory << ": " << error.message();
    pm.addInstrumentation(std::make_unique<DumpAfterEach>(options.dumpDirectory, name.str()));
  }
  if (options.timing)
    pm.addInstrumentation(std::make_unique<TimePasses>());
  return pm.run(module);
}

FailureOr<std::vector<std::string>> chosenLevels(Operation *at, const CompileOptions &options) {
  std::vector<std::string> names = options.levels;
  if (StringAttr level = levelNameOf(at)) { // the module was planned for this level
    if (!names.empty() && names != std::vector{level.str()})
      return at->emitError("expected the target that the module is planned for, ") << level,
             failure();
    names = {level.str()};
  }
  if (names.empty()) {
    const exec::Level *native = exec::nativeLevel();
    if (!native)
      return at->emitError("this machine executes none of the levels; name one with --target"),
             failure();
    names.push_back(native->name.str());
  }
  // The artifact contains each level once, in order.
  std::vector<std::string> sorted;
  for (const exec::Level &level : exec::levels())
    if (llvm::is_contained(names, level.name))
      sorted.push_back(level.name.str());
  return sorted;
}

auto mapFunctions(ModuleOp module) {
  return llvm::make_filter_range(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return function.getSymName().starts_with(GRADC_MAP_PREFIX);
  });
}

bool isPlanned(ModuleOp module) { return !module.getOps<exec::EntryOp>().empty(); }

FailureOr<Imported> importModule(MLIRContext &context, StringRef path) {
  Imported imported;
  imported.module = parseSourceFile<ModuleOp>(path, ParserConfig(&context));
  if (!imported.module)
    return failure();
  ModuleOp module = *imported.module;
  bool hasFunctions = !module.getOps<func::FuncOp>().empty();
  if (isPlanned(module) == hasFunctions)
    return module.emitError("expected functions of grad ops or planned exec.entry ops, found ")
               << (hasFunctions ? "both" : "neither"),
           failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isExternal())
      return function.emitError("expected a body of function \"") << function.getSymName() << '"',
             failure();
  return imported;
}

/// Removes map models, which run on CPUs concurrently with the step.
void dropMapModels(ModuleOp level) {
  for (func::FuncOp function : llvm::make_early_inc_range(mapFunctions(level)))
    function.erase();
  for (auto kernel : llvm::make_early_inc_range(level.getOps<exec::KernelOp>()))
    if (SymbolTable::symbolKnownUseEmpty(kernel, level))
      kernel.erase();
}

} // namespace

std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

bool isModel(StringRef path) { return path.ends_with(".onnx") || path.ends_with(".mlir"); }

FailureOr<Imported> importFile(MLIRContext &context, StringRef path,
                               const CompileOptions &options) {
  PhaseTimer timer("import", options);
  ImportOptions import;
  import.shapes = options.shapes;
  import.entryShapes = options.entryShapes;
  import.inputs = options.inputs;
  import.buckets = options.buckets;
  import.stringBytes = options.stringBytes;
  if (path.ends_with(".mlir"))
    return importModule(context, path);
  if (path.ends_with(".onnx"))
    return importModel(context, path, import);
  FailureOr<Imported> imported = importTraining(context, path, import);
  if (succeeded(imported))
    imported->specFile = llvm::sys::path::filename(path).str();
  return imported;
}

/// The remaining phases for a module in planned form.
static FailureOr<PlannedProgram> planKernels(PlannedProgram program, ArrayRef<std::string> levels,
                                             const CompileOptions &options) {
  for (const std::string &name : levels) {
    OwningOpRef<ModuleOp> level = cast<ModuleOp>((*program.imported.module)->clone());
    setLevel(*level, name);
    if (failed(runPhase(*level, name, buildPlannedPhase, options)))
      return failure();
    program.levels.push_back(std::move(level));
  }
  return program;
}

FailureOr<PlannedProgram> planProgram(Imported imported, const CompileOptions &options) {
  PlannedProgram program{std::move(imported), {}};
  ModuleOp module = *program.imported.module;
  FailureOr<std::vector<std::string>> levels = chosenLevels(module, options);
  if (failed(levels))
    return failure();
  if (isPlanned(module))
    return planKernels(std::move(program), *levels, options);
  if (failed(runPhase(module, "graph", buildGraphPhase, options)))
    return failure();
  auto isCuda = [](const std::string &name) { return exec::findLevel(name)->isCuda(); };
  if (!mapFunctions(module).empty() && llvm::all_of(*levels, isCuda))
    return (*mapFunctions(module).begin()).emitError()
           << "a model of a map stage runs on CPUs, expected a target that has them, too: "
              "--target=cpu,cuda:sm_90";
  for (bool cuda : {false, true}) {
    CompileOptions kind = options;
    kind.levels.clear();
    llvm::copy_if(*levels, std::back_inserter(kind.levels),
                  [&](const std::string &name) { return isCuda(name) == cuda; });
    if (kind.levels.empty())
      continue;
    OwningOpRef<ModuleOp> kernels = cast<ModuleOp>(module->clone());
    if (failed(runPhase(*kernels, cuda ? "cuda-kernel" : "kernel", buildKernelPhase, kind)))
      return failure();
    for (const std::string &name : kind.levels) {
      OwningOpRef<ModuleOp> level = cast<ModuleOp>((*kernels)->clone());
      setLevel(*level, name);
      if (cuda)
        dropMapModels(*level);
      if (failed(runPhase(*level, name, buildLevelPhase, options)))
        return failure();
      program.levels.push_back(std::move(level));
    }
  }
  return program;
}

static FailureOr<std::string> generate(ModuleOp level, EmitKind kind,
                                       const CompileOptions &options) {
  StringRef name = levelNameOf(level).getValue();
  PhaseTimer timer(("code for " + name).str(), options);
  CodegenOptions codegen;
  codegen.emit = kind;
  codegen.llvmImage = options.llvmImage;
  codegen.cacheDirectory = options.cacheDirectory;
  if (options.timing)
    codegen.timing = [](StringRef phase, double seconds) {
      printTime(seconds * 1e3, "  " + phase + ", all kernels");
    };
  if (options.corruptKernel.empty())
    return generateImage(level, *exec::findLevel(name), codegen);
  OwningOpRef<ModuleOp> corrupted = cast<ModuleOp>(level->clone());
  PassManager pm(level.getContext(), ModuleOp::getOperationName());
  CorruptKernelOptions corrupt;
  corrupt.kernel = options.corruptKernel;
  pm.addPass(createCorruptKernel(corrupt));
  if (failed(pm.run(*corrupted)))
    return failure();
  return generateImage(*corrupted, *exec::findLevel(name), codegen);
}

FailureOr<std::string> compileProgram(PlannedProgram &program, StringRef directory,
                                      const CompileOptions &options) {
  std::vector<CompiledLevel> compiled;
  for (auto &level : program.levels) {
    FailureOr<std::string> image = generate(*level, EmitKind::image, options);
    if (failed(image))
      return failure();
    compiled.push_back({*level, std::move(*image)});
  }
  PhaseTimer timer("artifact", options);
  return writeArtifact(compiled, program.imported, directory);
}

FailureOr<std::string> emitProgram(PlannedProgram &program, EmitKind kind,
                                   const CompileOptions &options) {
  std::string all;
  for (auto &level : program.levels) {
    FailureOr<std::string> text = generate(*level, kind, options);
    if (failed(text))
      return failure();
    all += *text;
  }
  return all;
}

} // namespace gradc
