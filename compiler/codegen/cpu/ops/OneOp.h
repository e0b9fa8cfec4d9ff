// Kernels that are one op with code of its own.
#ifndef COMPILER_CODEGEN_CPU_OPS_ONEOP_H
#define COMPILER_CODEGEN_CPU_OPS_ONEOP_H

#include "compiler/codegen/tile/Memory.h"

namespace gradc::cpu {

/// Such a kernel inside its function.
struct OneOp {
  mlir::exec::KernelOp kernel;
  tile::LoopNest &nest;
  mlir::ModuleOp module;
  llvm::SmallVector<tile::Memory> slices; ///< of its operands, then its results
  mlir::Value begin, end;                 ///< the units to compute
  mlir::Value scratch;                    ///< the thread's memory

  const tile::Memory &operand() const { return slices.front(); } ///< the first one
  const tile::Memory &result() const { return slices.back(); }   ///< the last one
};

/// Emits the op's units.
mlir::LogicalResult emitOneOp(OneOp &op);

/// Each emits the units of a kernel whose schedule has the algorithm of that name, in the file of
/// that name.
mlir::LogicalResult emitAttention(OneOp &op); // in AttentionTiles.cpp
mlir::LogicalResult emitCumulative(OneOp &op);
mlir::LogicalResult emitFourier(OneOp &op);
mlir::LogicalResult emitPositions(OneOp &op);
mlir::LogicalResult emitSort(OneOp &op);
mlir::LogicalResult emitSuppression(OneOp &op);

} // namespace gradc::cpu

#endif
