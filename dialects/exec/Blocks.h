// What a schedule for a GPU means.
#ifndef DIALECTS_EXEC_BLOCKS_H
#define DIALECTS_EXEC_BLOCKS_H

#include "dialects/exec/Exec.h"

namespace mlir::exec {

/// Rows and columns of the root space, taken as a matrix, that one block computes: of a schedule
/// that walks a contraction in stages.
std::pair<int64_t, int64_t> blockTile(KernelOp kernel);

} // namespace mlir::exec

#endif
