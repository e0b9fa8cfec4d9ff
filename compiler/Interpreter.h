// The reference interpreter: runs grad functions op by op through each op's `evaluate`.
#ifndef COMPILER_INTERPRETER_H
#define COMPILER_INTERPRETER_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// A module's functions and the states they read and write.
class Interpreter {
public:
  /// Initializes the states. `module`: without requests for gradients (the differentiate pass).
  explicit Interpreter(mlir::ModuleOp module);

  /// Runs a function of grad ops; writes take effect when it returns.
  llvm::SmallVector<mlir::grad::HostTensor> run(mlir::func::FuncOp function,
                                                llvm::ArrayRef<mlir::grad::HostTensor> arguments);

  mlir::grad::HostTensor &state(llvm::StringRef name) { return states.find(name)->second; }

private:
  llvm::StringMap<mlir::grad::HostTensor> states;
};

} // namespace gradc

#endif
