// Messages of the commands to the person who runs them.
#ifndef TOOLS_GRADC_CONSOLE_H
#define TOOLS_GRADC_CONSOLE_H

#include "runtime/base/Status.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

namespace gradc {

// Exit codes and errors are the runtime's, both in the tools and in compiled programs.
using runtime::Code;
using runtime::Result;
using runtime::Status;

/// Prints MLIR's diagnostics for a person, for as long as it lives.
class Console {
public:
  explicit Console(mlir::MLIRContext &context);
  ~Console();

private:
  mlir::MLIRContext &context;
  mlir::DiagnosticEngine::HandlerID handler;
};

/// Prints "gradc: error: ..." on stderr; returns the code.
int fail(Code code, const llvm::Twine &message);
int fail(const Status &status);
/// With the code that the runtime gave, if the error is the runtime's.
Status toStatus(llvm::Error error);
/// With the exit code that the runtime gave, if the error is the runtime's.
int fail(llvm::Error error);
int failToWrite(llvm::StringRef file, llvm::Error error);

inline int exitCode(Code code) { return int(code); }

/// "10.0 KiB", "120 B".
std::string bytesText(int64_t bytes);

} // namespace gradc

#endif
