// Reads the options shared by all compilations, and runs their steps.
#include "tools/gradc/Compilation.h"

#include "compiler/import/job/StepOptions.h"
#include "compiler/import/spec/TrainingSpec.h"
#include "dialects/grad/EntryAttributes.h"
#include "dialects/grad/HostTensor.h"
#include "runtime/include/gradc/artifact.h"
#include "runtime/include/gradc/entries.h"
#include "tools/gradc/Files.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <limits>
#include <set>

using namespace mlir;

namespace gradc {
using namespace runtime;

void CompileArguments::add(CLI::App &command, const char *what) {
  command.add_option("file", file, what)->required();
  command.add_option("--shape", shapes, "bind an input's shape: NAME=32x3x224x224")
      ->allow_extra_args(false) // the model may follow
      ->type_name("NAME=DIMS");
  command
      .add_option(
          "--entry-shape", entryShapes,
          "of a model: a further entry \"forward.ENTRY\" over the same weights, for another "
          "shape of an input: step:ids=1x1")
      ->allow_extra_args(false)
      ->type_name("ENTRY:NAME=DIMS");
  command
      .add_option("--target", targets,
                  "cpu (this machine's level; default: an executable or library has code for "
                  "x86-64-v3, too), "
                  "cpu:x86-64-v3, cpu:x86-64-v4, cpu:x86-64-v4+bf16, cpu:x86-64-v4+amx, "
                  "cuda:sm_80, cuda:sm_90")
      ->allow_extra_args(false)
      ->delimiter(',');
  command
      .add_option("--libraries", options.libraries,
                  "when cuBLASLt and cuDNN take work out of a CUDA kernel: auto, always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command
      .add_option(
          "--memory-budget", memoryBudgetMb,
          "maximum MiB of states and results; cheap values are computed twice (default: the "
          "spec's memory_budget_mb)")
      ->type_name("MB");
  CLI::Option *several =
      command
          .add_option("--buckets", buckets,
                      "of a model: also separate code for up to this many rows (default: 1)")
          ->allow_extra_args(false)
          ->delimiter(',')
          ->type_name("ROWS");
  command
      .add_flag("--one-bucket", oneBucket,
                "of a model: the same code, and so the same bits, for any number of rows")
      ->excludes(several);
  command
      .add_option("--string-bytes", options.stringBytes,
                  "most bytes of a string of a model's input (default: 64)")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 16))
      ->type_name("N");
  command
      .add_option("--tuning", options.tuning,
                  "file of measured schedules, which gradc compile --tune writes")
      ->type_name("FILE");
  command.add_option("--dump-after-each", options.dumpDirectory, "write the IR after each pass")
      ->type_name("DIR");
  command
      .add_flag("--llvm-image", options.llvmImage, "CUDA code for the simulated device of tests")
      ->group("");
  command.add_flag("--timing", options.timing, "print the time of each phase and pass");
  for (const CLI::Option *option : command.get_options())
    accepted.push_back(option);
}

int CompileArguments::expectNoneForArtifact() const {
  for (const CLI::Option *option : accepted)
    if (!option->get_positional() && !option->empty())
      return fail(Code::usage,
                  option->get_name() + " is for compiling: " + file + " is compiled already");
  return 0;
}

int CompileArguments::expectNoneForSpec() const {
  for (const CLI::Option *option : accepted)
    if (std::string name = option->get_name();
        !option->empty() &&
        (name == "--buckets" || name == "--one-bucket" || name == "--entry-shape"))
      return fail(Code::usage, name + " is for models: the batches of " + file +
                                   " have the size that the spec gives");
  return 0;
}

/// The name for --target.
static std::string targetName(const exec::Level &level) {
  return level.isCuda() ? level.name.str() : "cpu:" + level.name.str();
}

std::string cacheFolder() {
  if (const char *given = std::getenv("GRADC_CACHE_DIR"))
    return given;
  llvm::SmallString<128> path;
  if (!llvm::sys::path::cache_directory(path)) // there is no home folder
    return "";
  llvm::sys::path::append(path, "gradc");
  return path.str().str();
}

void CompileArguments::takeEnvironment() {
  if (const char *given = std::getenv("GRADC_TARGET"); given && targets.empty())
    for (llvm::StringRef target : llvm::split(given, ','))
      if (!target.empty())
        targets.push_back(target.str());
}

/// The numbers of rows that --buckets names, each once, in rising order.
static Result<std::vector<int64_t>> readBuckets(llvm::ArrayRef<std::string> buckets) {
  std::set<int64_t> sizes;
  for (const std::string &text : buckets) {
    int64_t rows; // CLI11 would read a number beyond int64_t as the largest
    if (llvm::StringRef(text).getAsInteger(10, rows) || rows < 1)
      return Status(Code::usage, "expected --buckets from 1 to " +
                                     std::to_string(std::numeric_limits<int64_t>::max()) +
                                     " rows, found " + text);
    sizes.insert(rows);
  }
  return std::vector<int64_t>(sizes.begin(), sizes.end());
}

/// The sizes of "x=32x3x224x224", by the input's name; nullopt: the text is no such shape.
static std::optional<std::pair<std::string, std::vector<int64_t>>> readShape(llvm::StringRef text) {
  auto [name, dims] = text.split('=');
  SmallVector<llvm::StringRef> sizes;
  dims.split(sizes, 'x');
  std::pair<std::string, std::vector<int64_t>> shape(name.str(), {});
  for (llvm::StringRef size : sizes) {
    int64_t value;
    if (name.empty() || size.getAsInteger(10, value) || value < 1)
      return std::nullopt;
    shape.second.push_back(value);
  }
  return shape;
}

int CompileArguments::readShapes() {
  for (const std::string &text : shapes) {
    auto shape = readShape(text);
    if (!shape)
      return fail(
          Code::usage,
          "expected --shape NAME=DIMS with sizes of at least 1, such as x=32x3x224x224, found " +
              text);
    if (!options.shapes.insert(*shape).second)
      return fail(Code::usage, "--shape names \"" + shape->first + "\" twice");
  }
  for (llvm::StringRef text : entryShapes) {
    auto [entry, rest] = text.split(':');
    auto isAllowed = [](char x) { return llvm::isAlnum(x) || x == '-' || x == '_'; };
    auto shape = readShape(rest);
    if (!shape || entry.empty() || !llvm::all_of(entry, isAllowed))
      return fail(Code::usage, "expected --entry-shape ENTRY:NAME=DIMS with a name of letters, "
                               "digits, - and _ and sizes of at least 1, such as step:ids=1x1, "
                               "found " +
                                   text);
    if (gradc_begins_suffix(entry.data(), entry.size()))
      return fail(Code::usage, "--entry-shape: an entry may not be called " + entry +
                                   ", which is a kind of entry; choose another name");
    if (!options.entryShapes[entry.str()].insert(*shape).second)
      return fail(Code::usage,
                  "--entry-shape names \"" + shape->first + "\" of entry " + entry + " twice");
  }
  return 0;
}

int CompileArguments::finish() {
  takeEnvironment();
  options.cacheDirectory = cacheFolder();
  if (memoryBudgetMb) {
    int64_t budget; // CLI11 would read a number beyond int64_t as the largest
    if (llvm::StringRef(*memoryBudgetMb).getAsInteger(10, budget) || budget < 1 ||
        budget > maxBudgetMb)
      return fail(Code::usage, "expected --memory-budget from 1 to " + llvm::Twine(maxBudgetMb) +
                                   " MiB, found " + *memoryBudgetMb);
    options.memoryBudget = budget << 20;
  }
  auto rowsOfBuckets = readBuckets(buckets);
  if (!rowsOfBuckets)
    return fail(rowsOfBuckets.status());
  options.buckets = std::move(*rowsOfBuckets);
  if (options.buckets.empty() && !oneBucket)
    options.buckets = {1};
  if (int code = readShapes())
    return code;
  for (llvm::StringRef target : targets) {
    llvm::StringRef level = target;
    if (const exec::Level *native = exec::nativeLevel(); native && target == "cpu") {
      options.levels.push_back(native->name.str());
      continue;
    }
    level.consume_front("cpu:");
    const exec::Level *found = exec::findLevel(level);
    if (!found || targetName(*found) != target) {
      std::string known = llvm::join(llvm::map_range(exec::levels(), targetName), ", ");
      return fail(Code::usage, "unknown target " + target + ": expected cpu, " + known);
    }
    options.levels.push_back(level.str());
  }
  if (!options.tuning.empty())
    if (int code = expectFile(options.tuning))
      return code;
  if (options.dumpDirectory.empty())
    return 0;
  if (auto error = llvm::sys::fs::create_directories(options.dumpDirectory))
    return fail(Code::error, "cannot make " + options.dumpDirectory + ": " + error.message());
  if (!llvm::sys::fs::is_directory(options.dumpDirectory))
    return fail(Code::error, "cannot write to " + options.dumpDirectory + ": not a folder");
  if (auto error = llvm::sys::fs::access(options.dumpDirectory, llvm::sys::fs::AccessMode::Write))
    return fail(Code::error, "cannot write to " + options.dumpDirectory + ": " + error.message());
  return 0;
}

/// Reports problems that the run would otherwise find after code generation: the batch of the step,
/// and the one that is made meanwhile, must fit into `budget` bytes.
static int expectFit(func::FuncOp entry, int64_t budget) {
  int64_t bytes = 0, rows = 0;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto role = entry.getArgAttrOfType<StringAttr>(i, grad::roleName);
    auto type = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[i]);
    if (!role || role.getValue() != "data" || !type || type.getRank() == 0)
      continue;
    bytes += grad::bytesOf(type);
    rows = type.getDimSize(0);
  }
  if (2 * bytes <= budget)
    return 0;
  return fail(Code::doesNotFit, "data { memory_mb: " + llvm::Twine(budget >> 20) +
                                    " } is too small: expected at least " +
                                    llvm::Twine((2 * bytes >> 20) + 1) + ", for 2 batches of " +
                                    llvm::Twine(rows) + " rows in entry " + entry.getName());
}

static int expectFit(const Imported &imported) {
  if (!imported.spec)
    return 0;
  ModuleOp module = imported.module.get();
  llvm::SmallVector<DataBlock> blocks = dataBlocks(*imported.spec);
  for (auto entry : module.getOps<func::FuncOp>()) {
    llvm::StringRef name = entry.getSymName(), kind = name.split('.').first;
    auto block = llvm::find_if(blocks, [&](const DataBlock &one) {
      return one.entry == (kind == GRADC_TRAIN_ENTRY ? kind : name);
    });
    if (block == blocks.end() || name.ends_with(GRADC_TAIL_SUFFIX))
      continue;
    const spec::Data &data = *block->data;
    if (int code = expectFit(entry, (data.has_memory_mb() ? data.memory_mb() : 256) << 20))
      return code;
  }
  return 0;
}

/// Checks that the states and each entry's results fit into the budget.
static int expectBudget(const PlannedProgram &program, int64_t budget) {
  auto inMb = [](int64_t bytes) {
    return llvm::formatv("{0:f1}", double(bytes) / (1 << 20)).str();
  };
  for (const OwningOpRef<ModuleOp> &constant : program.levels) {
    ModuleOp level = constant.get();
    int64_t states = 0;
    for (auto buffer : level.getOps<exec::BufferOp>())
      states += int64_t(buffer.getBytes());
    for (auto entry : level.getOps<exec::EntryOp>())
      if (int64_t arena = int64_t(entry.getArena()); states + arena > budget)
        return fail(Code::doesNotFit,
                    "entry \"" + entry.getSymName() + "\" does not fit into " + inMb(budget) +
                        " MiB: it takes at least " + inMb(states + arena) + ", " + inMb(states) +
                        " of them for states (parameters and what optimizers keep), " +
                        inMb(arena) + " for results, with all computed twice that helps");
  }
  return 0;
}

int Compilation::import() {
  if (int code = arguments.finish())
    return code;
  if (int code = expectFile(arguments.file))
    return code;
  if (isArtifact(arguments.file))
    return fail(Code::usage, "expected an ONNX model or a training spec, found the artifact " +
                                 arguments.file + ": gradc inspect shows what is in it");
  auto result = importFile(*theContext, arguments.file, arguments.options);
  if (failed(result))
    return exitCode(Code::invalid);
  theImported = std::move(*result);
  if (theImported->spec)
    if (int code = arguments.expectNoneForSpec())
      return code;
  return expectFit(*theImported);
}

int Compilation::plan() {
  if (!theImported)
    if (int code = import())
      return code;
  int64_t &budget = arguments.options.memoryBudget;
  if (const auto &spec = theImported->spec; spec && budget == 0)
    budget = spec->memory_budget_mb() << 20;
  auto result = planProgram(std::move(*theImported), arguments.options);
  if (failed(result))
    return exitCode(Code::invalid);
  theProgram = std::move(*result);
  return budget ? expectBudget(*theProgram, budget) : 0;
}

int Compilation::compile(llvm::StringRef directory) {
  if (!theProgram)
    if (int code = plan())
      return code;
  auto result = compileProgram(*theProgram, directory, arguments.options);
  if (failed(result))
    return exitCode(Code::invalid);
  theArtifact = std::move(*result);
  return 0;
}

/// The file's bytes; null if it cannot be read.
static std::unique_ptr<llvm::MemoryBuffer> readBytes(llvm::StringRef path) {
  if (!llvm::sys::fs::is_regular_file(path))
    return nullptr;
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  return buffer ? std::move(*buffer) : nullptr;
}

bool isArtifact(llvm::StringRef path) {
  auto buffer = readBytes(path);
  llvm::StringRef magic = GRADC_ARTIFACT_MAGIC;
  return buffer && (buffer->getBuffer().starts_with(magic) || buffer->getBuffer().ends_with(magic));
}

std::string runnerFile(llvm::StringRef name) {
  std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  llvm::SmallString<128> bin(llvm::sys::path::parent_path(self)), path(bin), installed(bin);
  llvm::sys::path::append(path, name);
  llvm::sys::path::append(installed, "..", "lib", "gradc", name);
  return llvm::sys::fs::exists(installed) ? installed.str().str() : path.str().str();
}

std::string folderOf(llvm::StringRef file) {
  llvm::SmallString<128> path(file);
  llvm::sys::fs::make_absolute(path);
  return llvm::sys::path::parent_path(path).str();
}

} // namespace gradc
