// Messages from the commands to their user.
#ifndef TOOLS_GRADC_CONSOLE_H
#define TOOLS_GRADC_CONSOLE_H

#include "runtime/base/Status.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <nlohmann/json_fwd.hpp>

namespace gradc {

// Tools and compiled programs share the runtime's exit codes and errors.
using runtime::Code;
using runtime::Result;
using runtime::Status;

/// Prints MLIR's diagnostics in readable form while it exists.
class Console {
public:
  explicit Console(mlir::MLIRContext &context);
  ~Console();

private:
  mlir::MLIRContext &context;
  mlir::DiagnosticEngine::HandlerID handler;
};

/// Prints "gradc: error: ..." on stderr, and returns the code.
int fail(Code code, const llvm::Twine &message);
int fail(const Status &status);
/// Keeps the runtime's code if the error comes from the runtime.
Status toStatus(llvm::Error error);
/// Keeps the runtime's exit code if the error comes from the runtime.
int fail(llvm::Error error);
int failToWrite(llvm::StringRef file, llvm::Error error);

/// All errors printed so far, in order: an array of objects with a `message`, `where` (the file and
/// line, or the node) if that is known, and `notes` of the same form if there are any.
const nlohmann::json &printedErrors();

/// Prints indented JSON. Bytes that are not UTF-8, as names of files may have, are replaced.
void printAsJson(const nlohmann::json &value);

inline int exitCode(Code code) { return int(code); }

/// For example "10.0 KiB" or "120 B".
std::string bytesText(int64_t bytes);
/// For example "50.1 us" or "2.60 ms", with three digits.
std::string timeText(double seconds);

} // namespace gradc

#endif
