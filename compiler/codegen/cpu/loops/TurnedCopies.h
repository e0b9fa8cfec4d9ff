// Copies of a factor that a product reads across its panels or rows.
#ifndef COMPILER_CODEGEN_CPU_LOOPS_TURNEDCOPIES_H
#define COMPILER_CODEGEN_CPU_LOOPS_TURNEDCOPIES_H

#include "compiler/codegen/cpu/loops/SpaceEmitter.h"
#include "passes/layout/TurnedPanels.h"

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
  /// Emits the units [begin, end) of the space, whose tiles read the copies. Only if copies are
  /// wanted.
  void emitUnits(SpaceEmitter &space, mlir::Value begin, mlir::Value end);

private:
  /// Copies the panels of the units [begin, end). From now on tiles read the copies.
  void copyUnits(mlir::Value begin, mlir::Value end);
  /// Copies the columns of one tile, from that matrix of the batch which the tile multiplies.
  void copyTile(llvm::ArrayRef<tile::LinearExpr> coordinates, llvm::ArrayRef<int64_t> extents);
  /// For each dim of the operand, the root's dim that it runs along; nullopt for the summed dim.
  llvm::SmallVector<std::optional<unsigned>> rootDims();
  tile::Memory panelsAt(llvm::ArrayRef<tile::LinearExpr> origin);
  void copyPanels(const tile::Memory &to, mlir::exec::PanelAttr stored, mlir::Value begin,
                  mlir::Value end);
  void copyRows(const tile::Memory &to, llvm::ArrayRef<tile::LinearExpr> place, int64_t valid);
  void forVectors(mlir::Value begin, mlir::Value end,
                  llvm::function_ref<void(const tile::LinearExpr &, int64_t)> body);
  llvm::SmallVector<tile::Point> square(llvm::ArrayRef<tile::LinearExpr> place, int64_t along,
                                        const tile::LinearExpr &first, int64_t valid);
  void copySquare(const tile::Memory &to, llvm::ArrayRef<tile::LinearExpr> place, int64_t along,
                  const tile::LinearExpr &first, int64_t valid);
  void prefetchSquare(llvm::ArrayRef<tile::LinearExpr> place, int64_t along,
                      const tile::LinearExpr &first, int64_t valid);

  mlir::BlockArgument operand() { return kernel.getBlock().getArgument(turned.getOperand()); }
  mlir::RankedTensorType operandType() {
    return mlir::cast<mlir::RankedTensorType>(operand().getType());
  }
  bool hasMatrices() {
    return gradc::hasMatrices(operandType(), kernel.getLayout(turned.getOperand()));
  }
  unsigned columns() { return kernel.getRoot().getRank() - 1; }

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
