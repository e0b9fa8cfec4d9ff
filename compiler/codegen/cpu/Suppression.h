// A non-maximum suppression as one kernel.
#ifndef COMPILER_CODEGEN_CPU_SUPPRESSION_H
#define COMPILER_CODEGEN_CPU_SUPPRESSION_H

#include "compiler/codegen/tile/Memory.h"

namespace gradc::cpu {

/// Emits the rows [begin, end), each a class of an image, of a kernel whose schedule has the
/// algorithm `suppression`. `slices`: of its operands, then of its result.
mlir::LogicalResult emitSuppression(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                                    llvm::ArrayRef<tile::Memory> slices, mlir::Value begin,
                                    mlir::Value end, mlir::Value scratch);

} // namespace gradc::cpu

#endif
