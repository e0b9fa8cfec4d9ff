// Evaluates in program order, and frees a value after its last use.
#include "dialects/grad/Evaluate.h"

using namespace mlir;
using namespace mlir::grad;

SmallVector<HostTensor> grad::evaluateBlock(Block &block, ArrayRef<HostTensor> arguments,
                                            EvaluateOther other) {
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
      assert(other && "every op evaluates, but access to states");
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
