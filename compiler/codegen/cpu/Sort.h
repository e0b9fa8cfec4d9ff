// An argsort as one kernel.
#ifndef COMPILER_CODEGEN_CPU_SORT_H
#define COMPILER_CODEGEN_CPU_SORT_H

#include "compiler/codegen/tile/TileEmitter.h"

namespace gradc::cpu {

/// Emits the rows [begin, end) of a kernel whose schedule has the algorithm `sort`.
mlir::LogicalResult emitSort(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                             const tile::TileEmitter &tiles, const tile::Memory &operand,
                             const tile::Memory &result, mlir::Value begin, mlir::Value end,
                             mlir::Value scratch);

} // namespace gradc::cpu

#endif
