// Values of ops and blocks by the ops' own `evaluate`.
#ifndef DIALECTS_GRAD_EVALUATE_H
#define DIALECTS_GRAD_EVALUATE_H

#include "dialects/grad/Grad.h"

namespace mlir::grad {

/// Computes the results of an op without `evaluate` (state access) into `values`.
using EvaluateOther = llvm::function_ref<void(Operation &, llvm::DenseMap<Value, HostTensor> &)>;

/// What the terminator of `block` takes, computed in program order from values of the arguments. A
/// value is dropped after its last use.
SmallVector<HostTensor> evaluateBlock(Block &block, ArrayRef<HostTensor> arguments,
                                      EvaluateOther other = nullptr);

} // namespace mlir::grad

#endif
