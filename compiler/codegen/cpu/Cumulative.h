// A cumulative sum or product as one kernel.
#ifndef COMPILER_CODEGEN_CPU_CUMULATIVE_H
#define COMPILER_CODEGEN_CPU_CUMULATIVE_H

#include "compiler/codegen/tile/Memory.h"

namespace gradc::cpu {

/// Emits the tiles [begin, end) of a kernel whose schedule has the algorithm `cumulative`.
/// `scratch`: of `cumulativeScratchBytes`.
mlir::LogicalResult emitCumulative(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                                   const tile::Memory &operand, const tile::Memory &result,
                                   mlir::Value begin, mlir::Value end, mlir::Value scratch);

} // namespace gradc::cpu

#endif
