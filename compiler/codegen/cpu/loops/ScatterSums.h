// The sums of scatters in scratch memory.
#ifndef COMPILER_CODEGEN_CPU_LOOPS_SCATTERSUMS_H
#define COMPILER_CODEGEN_CPU_LOOPS_SCATTERSUMS_H

#include "compiler/codegen/cpu/loops/SpaceEmitter.h"

namespace gradc::cpu {

/// Emits the units [begin, end) of a kernel with the algorithm `scatter`, one group of units after
/// another: adds up the updates of the group's targets in `scratch` (`scatterScratch` bytes), then
/// emits the tiles of `root`, which read the sums there. If the sums are the kernel's first result,
/// they are added up in its memory, `result`. `rows`: as SpaceEmitter takes them.
mlir::LogicalResult emitScatters(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                                 tile::TileEmitter &tiles, llvm::ArrayRef<int64_t> rows,
                                 SpaceEmitter &root, const tile::Memory &result, mlir::Value begin,
                                 mlir::Value end, mlir::Value scratch);

} // namespace gradc::cpu

#endif
