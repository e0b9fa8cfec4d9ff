// Kernels whose units are tiles of whole rows along one dim of the root.
#ifndef COMPILER_CODEGEN_CPU_OPS_ROWWALK_H
#define COMPILER_CODEGEN_CPU_OPS_ROWWALK_H

#include "compiler/codegen/cpu/ops/OneOp.h"

namespace gradc::cpu {

/// Calls `body` with the first coordinates of each of the op's tiles, which are whole rows; the
/// coordinate along the row is 0.
mlir::LogicalResult
forEachRow(OneOp &op, llvm::function_ref<void(llvm::ArrayRef<tile::LinearExpr> coordinates)> body);

/// The same for the tiles [begin, end), with the number of the tile before its coordinates.
mlir::LogicalResult forEachUnit(
    mlir::exec::KernelOp kernel, tile::LoopNest &nest, mlir::Value begin, mlir::Value end,
    llvm::function_ref<void(const tile::LinearExpr &unit, llvm::ArrayRef<tile::LinearExpr>)> body);

} // namespace gradc::cpu

#endif
