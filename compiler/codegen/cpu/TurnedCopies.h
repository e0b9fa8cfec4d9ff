// Copies of a factor that a product reads across its panels or rows.
#ifndef COMPILER_CODEGEN_CPU_TURNEDCOPIES_H
#define COMPILER_CODEGEN_CPU_TURNEDCOPIES_H

#include "compiler/codegen/tile/TileEmitter.h"
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
  /// The number of units whose panels are copied together. Only if copies are wanted.
  int64_t unitsTogether() const { return turned.getTiles(); }
  /// Copies the panels of the units [begin, end), where tiles read them from now on.
  void copy(mlir::Value begin, mlir::Value end);

private:
  void copyPanels(const tile::Memory &to, mlir::exec::PanelAttr stored, mlir::Value begin,
                  mlir::Value end);
  void copyRows(const tile::Memory &to, mlir::Value begin, mlir::Value end);
  void forVectors(mlir::Value begin, mlir::Value end,
                  llvm::function_ref<void(const tile::LinearExpr &, int64_t)> body);
  llvm::SmallVector<tile::Point> square(llvm::ArrayRef<tile::LinearExpr> place, int64_t along,
                                        const tile::LinearExpr &first, int64_t valid);
  void copySquare(const tile::Memory &to, llvm::ArrayRef<tile::LinearExpr> place, int64_t along,
                  const tile::LinearExpr &first, int64_t valid);
  void prefetchSquare(llvm::ArrayRef<tile::LinearExpr> place, int64_t along,
                      const tile::LinearExpr &first, int64_t valid);

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
