// Emits the code of a part of a GPU kernel.
#ifndef COMPILER_CODEGEN_CUDA_BLOCKEMITTER_H
#define COMPILER_CODEGEN_CUDA_BLOCKEMITTER_H

#include "compiler/codegen/cuda/SharedMemoryContraction.h"
#include "dialects/exec/Blocks.h"

namespace gradc::cuda {

/// Emits the computations and stores of a part's threads.
class BlockEmitter {
public:
  BlockEmitter(const mlir::exec::KernelPart &part, tile::LoopNest &nest, tile::TileEmitter &tiles,
               BlockTeam &team)
      : nest(nest), tiles(tiles), team(team), blocks(part.blocks), shape(part.getRoot().getShape()),
        tileSizes(part.schedule.getTile()), isStaged(!part.schedule.getBlock().empty()),
        rows(tiles.rowsOf(part.getRoot(), part.results)), coordinates(shape.size()),
        extents(shape.size(), 1) {}

  void add(mlir::Value value, const tile::Memory &memory);
  /// `block`: the number of this thread's block within the part, an i64.
  void emit(mlir::Value block);
  /// The same after a contraction has been computed through shared memory. False if a result does
  /// not have the root's shape.
  bool emitShared(SharedMemoryContraction &contraction);

private:
  /// A result and its place in the root space.
  struct Output {
    mlir::Value value;
    tile::Memory memory;
    llvm::SmallVector<int64_t> dims; // the root's dim of each result dim; -1: of size 1
  };

  int64_t rank() const { return int64_t(shape.size()); }
  int64_t tilesOf(int64_t d) const { return llvm::divideCeil(shape[d], tileSizes[d]); }
  mlir::Value compare(mlir::arith::CmpIPredicate how, mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(nest.builder, nest.location, how, x, y);
  }

  mlir::Value both(mlir::Value x, mlir::Value y) {
    return x && y ? mlir::arith::AndIOp::create(nest.builder, nest.location, x, y) : x ? x : y;
  }

  mlir::Value isPresent();
  bool mayEndWithin(int64_t dim) const;
  void store(const Output &output, const tile::Point &point, mlir::Value value);
  void storeLanes(const Output &output, const tile::Point &point, mlir::Value value,
                  const tile::LinearExpr &first, mlir::Value end);
  void emitUnit(mlir::Value active);
  void enterTile(tile::LinearExpr at, int64_t begin, int64_t end);
  mlir::Value tilesOfUnit();
  void emitTails(int64_t dim);
  void emitTile(llvm::ArrayRef<const Output *> outputs, mlir::Value active);
  void emitRow(mlir::Value active);
  void emitApart(const Output &output, mlir::Value first);
  llvm::SmallVector<tile::Point> pointsOf(const Output &output) const;

  tile::LoopNest &nest;
  tile::TileEmitter &tiles;
  BlockTeam &team;
  mlir::exec::BlocksAttr blocks;
  llvm::ArrayRef<int64_t> shape, tileSizes;
  bool isStaged; // operands pass through shared memory
  /// Elements per row of the run along each dim of the root; 0: all of the dim.
  llvm::SmallVector<int64_t> rows;
  // Results with every dim of the root, statistics of its rows, and all others.
  std::vector<Output> whole, statistics, apart;
  llvm::SmallVector<tile::LinearExpr> coordinates;
  llvm::SmallVector<int64_t> extents;
};

} // namespace gradc::cuda

#endif
