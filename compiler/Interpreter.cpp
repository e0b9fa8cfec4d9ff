// Reads return the values of states at the function's start; writes take effect when it returns.
#include "compiler/Interpreter.h"

#include "dialects/grad/Evaluate.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {

Interpreter::Interpreter(ModuleOp module) {
  for (auto state : module.getOps<StateOp>())
    states[state.getSymName()] = state.getStoredInitial();
}

SmallVector<HostTensor> Interpreter::run(func::FuncOp function, ArrayRef<HostTensor> arguments) {
  SmallVector<std::pair<StringRef, HostTensor>> writes;
  auto results =
      evaluateBlock(function.getBody().front(), arguments,
                    [&](Operation &op, llvm::DenseMap<Value, HostTensor> &values) {
                      if (auto read = dyn_cast<ReadOp>(op))
                        values[read.getResult()] = states.lookup(read.getState());
                      else if (auto write = dyn_cast<WriteOp>(op))
                        writes.push_back({write.getState(), values.lookup(write.getValue())});
                    });
  for (auto &[name, value] : writes)
    states[name] = std::move(value);
  return results;
}

} // namespace gradc
