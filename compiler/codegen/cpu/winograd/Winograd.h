// 3x3 convolutions by Winograd's F(m x m, 3x3), m = 2 or 4: (m + 2)^2 products instead of 9 m^2 for
// every m x m results.
#ifndef COMPILER_CODEGEN_CPU_WINOGRAD_WINOGRAD_H
#define COMPILER_CODEGEN_CPU_WINOGRAD_WINOGRAD_H

#include "compiler/codegen/tile/TileEmitter.h"

namespace gradc::cpu {

/// The convolution of a kernel that reads its filter, at `filter`, transformed, and the ops after
/// it, for the units [begin, end). The schedule's tile says how many windows go through the three
/// steps (transform, multiply, transform back) together; they lie in `scratch` meanwhile.
mlir::LogicalResult emitWinograd(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                                 tile::TileEmitter &tiles, mlir::Value filter,
                                 llvm::ArrayRef<tile::Memory> results, mlir::Value begin,
                                 mlir::Value end, mlir::Value scratch);

/// A kernel that computes the gradient of a 3x3 filter, for the units [begin, end) of its input
/// channels. The schedule's block says how many windows go through the steps together.
mlir::LogicalResult emitWinogradGradient(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                                         tile::TileEmitter &tiles, const tile::Memory &result,
                                         mlir::Value begin, mlir::Value end, mlir::Value scratch);

/// A kernel whose only result is such a filter, at `transformed`.
bool transformsFilter(mlir::exec::KernelOp kernel);
void emitFilterTransform(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                         tile::TileEmitter &tiles, mlir::Value transformed, mlir::Value begin,
                         mlir::Value end);

} // namespace gradc::cpu

#endif
