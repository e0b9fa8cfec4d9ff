// Rows of a costly value that a kernel sums before it makes its result from them: the exponentials
// of a softmax. They wait in the result's memory instead of being computed twice.
#ifndef COMPILER_CODEGEN_CPU_LOOPS_KEPTROWS_H
#define COMPILER_CODEGEN_CPU_LOOPS_KEPTROWS_H

#include "compiler/codegen/tile/TileEmitter.h"

namespace gradc::cpu {

struct KeptRows {
  mlir::Value value;
  mlir::linalg::GenericOp sum; ///< reads `value` first, along its last dim
  unsigned result;             ///< the number of the kernel's result that is made from both
};

/// None if the kernel has no such value, if its rows fit into registers or exceed the caches, or if
/// an operand that the result may overwrite is read after the sum.
std::optional<KeptRows> findKeptRows(mlir::exec::KernelOp kernel, const tile::TileEmitter &tiles,
                                     const mlir::exec::Level &level);

} // namespace gradc::cpu

#endif
