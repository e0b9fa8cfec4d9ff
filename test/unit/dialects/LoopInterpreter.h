// Runs linalg.generic on host tensors, element by element: defines lowerToLoops without codegen.
#ifndef TEST_UNIT_DIALECTS_LOOPINTERPRETER_H
#define TEST_UNIT_DIALECTS_LOOPINTERPRETER_H

#include "dialects/grad/HostTensor.h"
#include "mlir/IR/Operation.h"

namespace gradc::test {

/// Computes the values of a block of linalg, tensor, and arith ops from its arguments. Unknown ops
/// are errors of the test: `getUnknown` names the first.
class LoopInterpreter {
public:
  void run(mlir::Block &block, llvm::ArrayRef<mlir::grad::HostTensor> arguments);
  const mlir::grad::HostTensor &lookup(mlir::Value value) const { return tensors.at(key(value)); }
  llvm::StringRef getUnknown() const { return unknown; }

private:
  static void *key(mlir::Value value) { return value.getAsOpaquePointer(); }
  void runTensorOp(mlir::Operation &op);
  void runGeneric(mlir::Operation &op);

  std::map<void *, mlir::grad::HostTensor> tensors;
  std::string unknown;
};

} // namespace gradc::test

#endif
