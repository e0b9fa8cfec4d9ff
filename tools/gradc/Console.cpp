// Errors for users of an ONNX file: first the node or file, then the problem.
#include "tools/gradc/Console.h"

#include "compiler/Session.h"
#include "runtime/base/Text.h"

#include "llvm/Support/raw_ostream.h"
#include <fmt/core.h>
#include <nlohmann/json.hpp>

using namespace mlir;

namespace gradc {

/// For example "node fc1" or "train.textproto:3:5"; empty if neither is known.
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

/// What `printedErrors` returns.
static nlohmann::json &errors() {
  static nlohmann::json list = nlohmann::json::array();
  return list;
}

const nlohmann::json &printedErrors() { return errors(); }

static nlohmann::json toJson(Diagnostic &diagnostic) {
  nlohmann::json json;
  json["message"] = diagnostic.str();
  if (std::string where = describe(diagnostic.getLocation()); !where.empty())
    json["where"] = where;
  for (Diagnostic &note : diagnostic.getNotes())
    json["notes"].push_back(toJson(note));
  return json;
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
  llvm::errs() << runtime::printable((where.empty() ? "gradc" : where) + ": " + kind + ": " +
                                     diagnostic.str())
               << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    print(note);
}

Console::Console(MLIRContext &context) : context(context) {
  context.printOpOnDiagnostic(false);
  handler = context.getDiagEngine().registerHandler([](Diagnostic &diagnostic) {
    print(diagnostic);
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      errors().push_back(toJson(diagnostic));
    return success();
  });
}

Console::~Console() { context.getDiagEngine().eraseHandler(handler); }

int fail(Code code, const llvm::Twine &message) {
  llvm::errs() << "gradc: error: " << runtime::printable(message.str()) << "\n";
  errors().emplace_back()["message"] = message.str();
  return exitCode(code);
}

int fail(const Status &status) { return fail(status.code(), status.message()); }

Status toStatus(llvm::Error error) {
  Code code = Code::error;
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &info) {
    if (info.isA<RuntimeError>())
      code = Code(static_cast<const RuntimeError &>(info).code);
  });
  return Status(code, llvm::toString(std::move(error)));
}

int fail(llvm::Error error) { return fail(toStatus(std::move(error))); }

int failToWrite(llvm::StringRef file, llvm::Error error) {
  return fail(Code::error, "cannot write " + file + ": " + llvm::toString(std::move(error)));
}

void printAsJson(const nlohmann::json &value) {
  fmt::print("{}\n", value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string bytesText(int64_t bytes) {
  if (bytes >= 10 << 20)
    return fmt::format("{:.1f} MiB", bytes / 1048576.0);
  return bytes >= 10 << 10 ? fmt::format("{:.1f} KiB", bytes / 1024.0) : fmt::format("{} B", bytes);
}

std::string timeText(double seconds) {
  const char *units[] = {"s", "ms", "us", "ns"};
  int unit = 0;
  for (; seconds < 1 && unit < 3; ++unit)
    seconds *= 1e3;
  int decimals = seconds >= 100 ? 0 : seconds >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}", seconds, decimals, units[unit]);
}

} // namespace gradc
