// Copies of a weight that a product reads across its panels.
#ifndef COMPILER_CODEGEN_CPU_TURNEDCOPIES_H
#define COMPILER_CODEGEN_CPU_TURNEDCOPIES_H

#include "compiler/codegen/tile/TileEmitter.h"
#include "passes/support/TurnedPanels.h"

namespace gradc::cpu {

class TurnedCopies {
public:
  /// `operands`: where the kernel's operands are. `scratch`: of `turnedScratch` bytes.
  TurnedCopies(mlir::exec::KernelOp kernel, tile::LoopNest &nest, tile::TileEmitter &tiles,
               llvm::ArrayRef<tile::Memory> operands, mlir::Value scratch);

  /// Whether the kernel has such a factor, and reads its product at the root's own index.
  bool areWanted() const { return bool(factor); }
  /// The number of units whose panels are copied together. Only if copies are wanted.
  int64_t unitsTogether() const { return gradc::unitsTurnedTogether(kernel, nest.level); }
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
  std::optional<gradc::TurnedFactor> factor;
  int64_t width, columns; ///< of a unit, and of all
};

} // namespace gradc::cpu

#endif
