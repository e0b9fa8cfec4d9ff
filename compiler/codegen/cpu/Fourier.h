// A Fourier transform as one kernel.
#ifndef COMPILER_CODEGEN_CPU_FOURIER_H
#define COMPILER_CODEGEN_CPU_FOURIER_H

#include "compiler/codegen/tile/Memory.h"

namespace gradc::cpu {

/// Emits the tiles [begin, end) of a kernel whose schedule has the algorithm `fourier`. `scratch`:
/// of `fourierScratchBytes`.
mlir::LogicalResult emitFourier(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                                mlir::ModuleOp module, const tile::Memory &operand,
                                const tile::Memory &result, mlir::Value begin, mlir::Value end,
                                mlir::Value scratch);

} // namespace gradc::cpu

#endif
