// The sums of scatters in scratch memory.
#ifndef COMPILER_CODEGEN_CPU_LOOPS_SCATTERSUMS_H
#define COMPILER_CODEGEN_CPU_LOOPS_SCATTERSUMS_H

#include "compiler/codegen/cpu/loops/SpaceEmitter.h"

namespace gradc::cpu {

/// Emits the units [begin, end) of a kernel whose schedule is of scatters: for some units at a
/// time, the updates of their targets are added up in `scratch`, of `scatterScratch` bytes, where
/// the tiles of `root` then read the sums; or in `result`, the first one, if it is the sums.
/// `rows`: as SpaceEmitter takes them.
mlir::LogicalResult emitScatters(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                                 tile::TileEmitter &tiles, llvm::ArrayRef<int64_t> rows,
                                 SpaceEmitter &root, const tile::Memory &result, mlir::Value begin,
                                 mlir::Value end, mlir::Value scratch);

} // namespace gradc::cpu

#endif
