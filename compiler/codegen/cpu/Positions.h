// The coordinates of true elements as one kernel.
#ifndef COMPILER_CODEGEN_CPU_POSITIONS_H
#define COMPILER_CODEGEN_CPU_POSITIONS_H

#include "compiler/codegen/tile/Memory.h"

namespace gradc::cpu {

/// Emits the units [begin, end), of which there is one, of a kernel whose schedule has the
/// algorithm `positions`.
mlir::LogicalResult emitPositions(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                                  const tile::Memory &operand, const tile::Memory &result,
                                  mlir::Value begin, mlir::Value end);

} // namespace gradc::cpu

#endif
