// A contraction whose operands pass through shared memory, a stage at a time: each is read once a
// block.
#ifndef COMPILER_CODEGEN_CUDA_STAGEDCONTRACTION_H
#define COMPILER_CODEGEN_CUDA_STAGEDCONTRACTION_H

#include "compiler/codegen/cuda/BlockTeam.h"

namespace gradc::cuda {

/// The root space as a matrix: columns are its last dim, rows all others. A block's threads stand
/// in a grid over a tile of it, and each has a register tile of its own.
class StagedContraction {
public:
  StagedContraction(mlir::exec::KernelOp kernel, tile::LoopNest &nest, tile::TileEmitter &tiles,
                    SharedMemory &shared);

  /// Sums over all stages; afterwards `tiles` knows the contraction's result at `points()`. Emits
  /// an error when the kernel's contraction is none that can be staged.
  llvm::LogicalResult emit(mlir::Value block, mlir::Value thread);
  /// One a row of this thread's register tile.
  llvm::ArrayRef<tile::Point> points() const { return tilePoints; }
  /// Whether a row of the tile lies in the root space.
  mlir::Value holds(size_t row);

private:
  using Expr = tile::LinearExpr;
  llvm::LogicalResult findOperands();
  llvm::SmallVector<Expr> split(Expr position, llvm::ArrayRef<unsigned> dims);
  Expr limited(Expr position, int64_t size);
  mlir::Value below(Expr position, int64_t size);
  void enterTile(mlir::Value block, mlir::Value thread);
  void loadRows(Expr first, mlir::Value thread);
  void loadColumns(Expr first, mlir::Value thread);
  mlir::Value zeroUnless(mlir::Value condition, mlir::Value value);

  mlir::exec::KernelOp kernel;
  tile::LoopNest &nest;
  tile::TileEmitter &tiles;
  SharedMemory &shared;
  mlir::linalg::GenericOp op;
  llvm::SmallVector<int64_t> ranges;
  llvm::SmallVector<unsigned> rowDims, reducedDims; // of the op's domain, in order
  unsigned columnDim = 0;
  int64_t rows = 1, columns = 1, depth = 1; // of the whole contraction
  int64_t tileRows, tileColumns, blockRows, blockColumns, stage;
  bool rowsAreContiguous = false; // in the first operand
  Expr row, column;               // first ones of this thread's tile
  Expr threadRow, threadColumn, blockRow, blockColumn;
  llvm::SmallVector<tile::Point> tilePoints;
};

} // namespace gradc::cuda

#endif
