// Which operands of a kernel its results may overwrite.
#ifndef PASSES_KERNEL_INPLACE_H
#define PASSES_KERNEL_INPLACE_H

#include "dialects/exec/Exec.h"

namespace gradc {

/// The operands of which no element is read after the root's element at the same index has been
/// written: those read at the root's own index on every path, and, once the kernel has a CPU
/// schedule, those that are also reduced along rows which the loops finish before they write any
/// element of them (the logits of a softmax), and those to which updates are added in place.
llvm::SmallVector<int64_t> findInplace(mlir::exec::KernelOp kernel);

} // namespace gradc

#endif
