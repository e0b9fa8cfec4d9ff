// Evaluates ops and blocks through the ops' `evaluate`.
#ifndef DIALECTS_GRAD_EVALUATE_H
#define DIALECTS_GRAD_EVALUATE_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// Computes the results of an op without `evaluate` (state access) into `values`.
using EvaluateOther = llvm::function_ref<void(Operation &, llvm::DenseMap<Value, HostTensor> &)>;

/// The operands of the terminator of `block`, computed in program order from values of the
/// arguments. Values are dropped after their last use.
SmallVector<HostTensor> evaluateBlock(Block &block, ArrayRef<HostTensor> arguments,
                                      EvaluateOther other = nullptr);

} // namespace mlir::grad

#endif
