// An attention, or its gradient, as one kernel, without a tensor of all query-key pairs in memory.
#ifndef COMPILER_CODEGEN_CPU_ATTENTION_H
#define COMPILER_CODEGEN_CPU_ATTENTION_H

#include "compiler/codegen/tile/Memory.h"
#include "dialects/grad/Grad.h"

namespace gradc::cpu {

/// Emits the units [begin, end) of a kernel whose schedule has the algorithm `attention`. `slices`:
/// its operands, then its results.
mlir::LogicalResult emitAttention(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                                  llvm::ArrayRef<tile::Memory> slices, mlir::Value begin,
                                  mlir::Value end, mlir::Value scratch);

namespace attention {
class Tiles;
/// The blocks of a head's queries [begin, end), counted over all heads.
void emitForward(Tiles &tiles, mlir::Value begin, mlir::Value end);
/// The gradients of the key heads [begin, end), and of the queries that read them.
void emitGradient(Tiles &tiles, mlir::Value begin, mlir::Value end);
} // namespace attention

} // namespace gradc::cpu

#endif
