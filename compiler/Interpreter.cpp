// Evaluates in program order, and drops a value after its last use.
#include "compiler/Interpreter.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {

/// Runs `block`, passing ops without `evaluate` (state access) to `other`.
static SmallVector<HostTensor>
runBlock(Block &block, ArrayRef<HostTensor> arguments,
         llvm::function_ref<void(Operation &, llvm::DenseMap<Value, HostTensor> &)> other) {
  llvm::DenseMap<Value, HostTensor> values;
  llvm::DenseMap<Value, unsigned> usesLeft;
  for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
    values[argument] = value;
  for (Operation &op : block) {
    SmallVector<HostTensor> operands;
    for (Value v : op.getOperands())
      operands.push_back(values.lookup(v));
    if (op.hasTrait<OpTrait::IsTerminator>())
      return operands;
    if (!isa<EvaluateOpInterface>(op)) {
      other(op, values);
    } else {
      for (auto [result, value] : llvm::zip(op.getResults(), evaluateOp(&op, operands)))
        values[result] = std::move(value);
    }
    for (Value v : op.getOperands()) {
      auto [it, isNew] = usesLeft.try_emplace(v, std::distance(v.use_begin(), v.use_end()));
      if (--it->second == 0)
        values.erase(v);
    }
  }
  return {};
}

SmallVector<HostTensor> evaluateBlock(Block &block, ArrayRef<HostTensor> arguments) {
  return runBlock(block, arguments, [](Operation &, auto &) {
    llvm_unreachable("kernels hold only ops that evaluate");
  });
}

Interpreter::Interpreter(ModuleOp module) {
  for (auto state : module.getOps<StateOp>())
    states[state.getSymName()] = state.getStoredInitial();
}

SmallVector<HostTensor> Interpreter::run(func::FuncOp function, ArrayRef<HostTensor> arguments) {
  SmallVector<std::pair<StringRef, HostTensor>> writes;
  auto results = runBlock(function.getBody().front(), arguments,
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
