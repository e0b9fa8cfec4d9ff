// Kernels that write some rows of a table in place.
#ifndef COMPILER_CODEGEN_CPU_LOOPS_PATCH_H
#define COMPILER_CODEGEN_CPU_LOOPS_PATCH_H

#include "compiler/codegen/tile/TileEmitter.h"

namespace gradc::cpu {

/// Emits the units [begin, end) of a kernel with a patch. `table`: its result, which has the memory
/// of the operand.
mlir::LogicalResult emitPatch(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                              tile::TileEmitter &tiles, const tile::Memory &table,
                              mlir::Value begin, mlir::Value end);

} // namespace gradc::cpu

#endif
