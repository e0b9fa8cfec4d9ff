// A contraction whose operands pass through shared memory, one slab of the summed dim at a time, so
// that a block reads each element once.
#ifndef COMPILER_CODEGEN_CUDA_SHAREDMEMORYCONTRACTION_H
#define COMPILER_CODEGEN_CUDA_SHAREDMEMORYCONTRACTION_H

#include "compiler/codegen/cuda/BlockTeam.h"

namespace gradc::cuda {

/// The root space is viewed as a matrix: its columns are the last dim, its rows all other dims. A
/// block's threads form a grid over a tile of the matrix, and each thread has its own register
/// tile.
class SharedMemoryContraction {
public:
  SharedMemoryContraction(mlir::exec::KernelOp kernel, tile::LoopNest &nest,
                          tile::TileEmitter &tiles, SharedMemory &shared);

  /// Sums over all slabs; afterwards `tiles` knows the contraction's result at `points()`. Emits
  /// an error if the kernel's contraction has another form.
  llvm::LogicalResult emit(mlir::Value block, mlir::Value thread);
  /// One per row of this thread's register tile.
  llvm::ArrayRef<tile::Point> points() const { return tilePoints; }
  /// Whether a row of the tile lies in the root space.
  mlir::Value holds(size_t row);

private:
  using Expr = tile::LinearExpr;
  llvm::LogicalResult findOperands();
  llvm::SmallVector<Expr> split(Expr position, llvm::ArrayRef<unsigned> dims);
  Expr limited(Expr position, int64_t size);
  mlir::Value below(Expr position, mlir::Value end);
  void enterTile(mlir::Value block, mlir::Value thread);
  // `isPartial`: the sum may end within the slab.
  llvm::SmallVector<Expr> enterStep(Expr step, bool isPartial);
  mlir::Value inSum(Expr step, bool isPartial, llvm::ArrayRef<Expr> domain, mlir::Value value);
  void loadRows(Expr first, mlir::Value thread, bool isPartial);
  void loadColumns(Expr first, mlir::Value thread, bool isPartial);
  llvm::SmallVector<mlir::Value> addSlabs(mlir::Value from, mlir::Value to, mlir::Value thread,
                                          bool isPartial, mlir::ValueRange sums);
  llvm::SmallVector<mlir::Value> addAll(mlir::Value thread, mlir::ValueRange sums);
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
  mlir::Value end;                          // of the sum in this run: `depth` or less
  int64_t tileRows, tileColumns, blockRows, blockColumns, slabDepth;
  bool rowsAreContiguous = false; // in the first operand
  Expr row, column;               // first ones of this thread's tile
  Expr threadRow, threadColumn, blockRow, blockColumn;
  llvm::SmallVector<tile::Point> tilePoints;
};

} // namespace gradc::cuda

#endif
