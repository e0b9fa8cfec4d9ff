// Kernels whose units are whole rows along one dim of the root.
#ifndef COMPILER_CODEGEN_CPU_ROWWALK_H
#define COMPILER_CODEGEN_CPU_ROWWALK_H

#include "compiler/codegen/tile/TileEmitter.h"

namespace gradc::cpu {

/// Calls `body` with the coordinates of each of the rows [begin, end); that along the row is 0.
mlir::LogicalResult
forEachRow(mlir::exec::KernelOp kernel, tile::LoopNest &nest, mlir::Value begin, mlir::Value end,
           llvm::function_ref<void(llvm::ArrayRef<tile::LinearExpr> coordinates)> body);

} // namespace gradc::cpu

#endif
