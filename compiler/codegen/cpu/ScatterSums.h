// The sums of a scatter in scratch memory.
#ifndef COMPILER_CODEGEN_CPU_SCATTERSUMS_H
#define COMPILER_CODEGEN_CPU_SCATTERSUMS_H

#include "compiler/codegen/cpu/SpaceEmitter.h"

namespace gradc::cpu {

/// Emits the units [begin, end) of a kernel whose schedule is of a scatter: for some units at a
/// time, the updates of their targets are added up in `scratch`, of `scatterScratch` bytes, where
/// the tiles of `root` then read the sums. `start`: the space of the sums before all updates.
mlir::LogicalResult emitScatter(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                                tile::TileEmitter &tiles, SpaceEmitter &start, SpaceEmitter &root,
                                mlir::Value begin, mlir::Value end, mlir::Value scratch);

} // namespace gradc::cpu

#endif
