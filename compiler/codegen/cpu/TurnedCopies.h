// Copies of a weight that a product reads across its panels.
#ifndef COMPILER_CODEGEN_CPU_TURNEDCOPIES_H
#define COMPILER_CODEGEN_CPU_TURNEDCOPIES_H

#include "compiler/codegen/tile/TileEmitter.h"
#include "passes/support/TurnedPanels.h"

namespace gradc::cpu {

class TurnedCopies {
public:
  /// `operands`: where the operands of the scheduled kernel are. `scratch`: of `turnedScratch`
  /// bytes.
  TurnedCopies(mlir::exec::KernelOp kernel, tile::LoopNest &nest, tile::TileEmitter &tiles,
               llvm::ArrayRef<tile::Memory> operands, mlir::Value scratch);

  /// Whether the schedule turns an operand. Fails if the kernel has no product, or reads it
  /// elsewhere than at the root's own index.
  mlir::FailureOr<bool> areWanted();
  /// The number of units whose panels are copied together. Only if copies are wanted.
  int64_t unitsTogether() const { return turned.getTiles(); }
  /// Copies the panels of the units [begin, end), where tiles read them from now on.
  void copy(mlir::Value begin, mlir::Value end);

private:
  void copyStrip(const tile::Memory &from, const tile::Memory &to,
                 llvm::ArrayRef<tile::LinearExpr> place, mlir::Value begin, mlir::Value end);
  void copySquares(const tile::Memory &from, const tile::Memory &to,
                   llvm::ArrayRef<tile::LinearExpr> place, int64_t columns);

  mlir::exec::KernelOp kernel;
  tile::LoopNest &nest;
  tile::TileEmitter &tiles;
  llvm::ArrayRef<tile::Memory> operands;
  mlir::Value scratch;
  mlir::exec::ScheduleAttr schedule;
  mlir::exec::TurnedAttr turned;
};

} // namespace gradc::cpu

#endif
