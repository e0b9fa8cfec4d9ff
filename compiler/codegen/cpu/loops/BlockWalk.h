// Contractions that are computed block by block of their sums, with the result as accumulator in
// memory.
#ifndef COMPILER_CODEGEN_CPU_LOOPS_BLOCKWALK_H
#define COMPILER_CODEGEN_CPU_LOOPS_BLOCKWALK_H

#include "compiler/codegen/cpu/loops/PanelCopies.h"

namespace gradc::cpu {

/// The units [begin, end) of a kernel whose schedule has a block, as many at a time as keep their
/// results in cache. `rows`: elements per row of the run along each dim of the root, 0 for all of
/// the dim. `copies`: of its factors.
mlir::LogicalResult emitBlockWalk(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                                  tile::TileEmitter &tiles, llvm::ArrayRef<int64_t> rows,
                                  const PanelCopies &copies, const tile::Memory &result,
                                  mlir::Value begin, mlir::Value end);

} // namespace gradc::cpu

#endif
