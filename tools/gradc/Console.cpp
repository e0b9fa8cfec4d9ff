// Errors for a person holding an ONNX file: the node or file first, then what is wrong.
#include "tools/gradc/Command.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace gradc {

/// "node fc1", "train.textproto:3:5"; empty when nothing is known.
static std::string describe(Location location) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    std::string where = describe(name.getChildLoc());
    std::string node = ("node \"" + name.getName().strref() + "\"").str();
    return where.empty() ? node : where + ": " + node;
  }
  if (auto file = dyn_cast<FileLineColLoc>(location)) {
    std::string text = file.getFilename().str();
    if (file.getLine() > 0)
      text += ":" + std::to_string(file.getLine());
    if (file.getLine() > 0 && file.getColumn() > 0)
      text += ":" + std::to_string(file.getColumn());
    return text;
  }
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    std::string text;
    for (Location part : fused.getLocations())
      if (std::string one = describe(part); !one.empty())
        text += (text.empty() ? "" : ", ") + one;
    return text;
  }
  return "";
}

static void print(Diagnostic &diagnostic) {
  const char *kind = "note";
  switch (diagnostic.getSeverity()) {
  case DiagnosticSeverity::Error:
    kind = "error";
    break;
  case DiagnosticSeverity::Warning:
    kind = "warning";
    break;
  default:
    break;
  }
  std::string where = describe(diagnostic.getLocation());
  llvm::errs() << (where.empty() ? "gradc" : where) << ": " << kind << ": " << diagnostic << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    print(note);
}

Console::Console(MLIRContext &context) : context(context) {
  context.printOpOnDiagnostic(false);
  handler = context.getDiagEngine().registerHandler([](Diagnostic &diagnostic) {
    print(diagnostic);
    return success();
  });
}

Console::~Console() { context.getDiagEngine().eraseHandler(handler); }

int fail(Code code, const llvm::Twine &message) {
  llvm::errs() << "gradc: error: " << message << "\n";
  return exitCode(code);
}

int fail(const Status &status) { return fail(status.code(), status.message()); }

void CompileArguments::add(CLI::App &command, const char *what) {
  command.add_option("file", file, what)->required();
  command.add_option("--shape", shapes, "bind an input's shape: NAME=32x3x224x224")
      ->type_name("NAME=DIMS");
  command
      .add_option("--target", targets, "cpu (this machine's level), cpu:x86-64-v3, cpu:x86-64-v4")
      ->delimiter(',');
  command.add_option("--dump-after-each", options.dumpDirectory, "write the IR after each pass")
      ->type_name("DIR");
  command.add_flag("--timing", options.timing, "print the time of each phase");
}

int CompileArguments::finish() {
  for (const std::string &text : shapes) {
    auto [name, dims] = llvm::StringRef(text).split('=');
    if (options.shapes.count(name.str())) {
      return fail(Code::usage, "--shape names \"" + name + "\" twice");
    }
    SmallVector<llvm::StringRef> sizes;
    dims.split(sizes, 'x');
    for (llvm::StringRef size : sizes) {
      int64_t value;
      if (name.empty() || size.getAsInteger(10, value) || value < 1) {
        return fail(
            Code::usage,
            "expected --shape NAME=DIMS with sizes of at least 1, such as x=32x3x224x224, found " +
                text);
      }
      options.shapes[name.str()].push_back(value);
    }
  }
  for (llvm::StringRef target : targets) {
    if (target == "cpu")
      continue;
    llvm::StringRef level = target;
    if (!level.consume_front("cpu:") || !exec::findLevel(level)) {
      std::string known = llvm::join(
          llvm::map_range(exec::levels(), [](auto &l) { return "cpu:" + l.name.str(); }), ", ");
      return fail(Code::usage, "unknown target " + target + ": expected cpu, " + known);
    }
    options.levels.push_back(level.str());
  }
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

} // namespace gradc
