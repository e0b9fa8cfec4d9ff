// Walks the space of a kernel's root in tiles: full tiles in loops, then smaller tiles for the
// remainder.
#ifndef COMPILER_CODEGEN_CPU_LOOPS_SPACEEMITTER_H
#define COMPILER_CODEGEN_CPU_LOOPS_SPACEEMITTER_H

#include "compiler/codegen/tile/TileEmitter.h"

namespace gradc::cpu {

/// Takes a value at a point of the space.
using StoreValue = std::function<void(const tile::Point &, mlir::Value)>;

/// Takes a tile's first element and its extents along the dims whose loops are open.
using EnterTile = std::function<void(llvm::ArrayRef<tile::LinearExpr>, llvm::ArrayRef<int64_t>)>;

/// A result and its place in the iteration space.
struct Output {
  mlir::Value value;
  tile::Memory memory;
  llvm::SmallVector<int64_t> dims; // the space's dim of each result dim; -1: of size 1
  size_t depth;                    // number of loops that must be open to know its coordinates
  StoreValue store;                // null: the elements go to `memory`
};

/// Emits the loops that compute results over one space.
class SpaceEmitter {
public:
  /// `rows`: elements per row of the run along each dim of the space; 0: all of the dim. `spacing`:
  /// how far apart the elements of a tile are; empty: next to each other.
  SpaceEmitter(tile::LoopNest &nest, tile::TileEmitter &tiles, mlir::RankedTensorType space,
               llvm::ArrayRef<int64_t> rows, llvm::ArrayRef<int64_t> tile,
               llvm::ArrayRef<int64_t> order, llvm::ArrayRef<int64_t> spacing = {})
      : nest(nest), tiles(tiles), shape(space.getShape()), rows(rows), tile(tile), order(order),
        spacing(spacing), coordinates(shape.size()), extents(shape.size(), 1) {}

  /// False if the result's elements are not those of the outermost loops.
  bool add(mlir::Value value, const tile::Memory &memory);
  /// Adds a value of the space's own type, whose elements `store` takes.
  void add(mlir::Value value, StoreValue store);
  /// Calls `enter` inside the outermost `depth` loops (at least 2), before those further inside,
  /// with the current tile's first element and its extents along these loops.
  void enterAt(size_t depth, EnterTile enter) {
    enterDepth = depth;
    this->enter = std::move(enter);
  }
  /// The whole space, or the units [begin, end) of its outermost loop.
  void emit() { emitFrom(0); }
  void emitUnits(mlir::Value begin, mlir::Value end);
  /// The units [begin, end), inside the loop over the tiles of the second dim: `enter` is called
  /// with a tile's first element and extent, then all units visit that tile.
  void emitUnits(mlir::Value begin, mlir::Value end,
                 llvm::function_ref<void(const tile::LinearExpr &, int64_t)> enter);

private:
  /// Opens the loop over full units, one by one.
  void forFullUnits(mlir::Value begin, mlir::Value end, llvm::function_ref<void()> inside);
  void emitFullUnits(mlir::Value begin, mlir::Value end);
  /// Visits the unit after the full ones, if it is among [begin, end).
  void forLastUnit(mlir::Value begin, mlir::Value end, llvm::function_ref<void()> inside);
  mlir::Value fullUnits(); ///< their number in this run
  void emitFrom(size_t depth);
  /// How far apart the elements of a tile are along a dim.
  int64_t apart(int64_t dim) const { return spacing.empty() ? 1 : spacing[dim]; }
  /// Opens the loop over a dim's tiles: full ones, then the remainder. If a tile's elements are
  /// spaced, an outer loop visits each first element below the spacing.
  void forTiles(int64_t dim, llvm::function_ref<void()> inside);
  /// Visits the rows after the full tiles.
  void forLastRows(int64_t dim, mlir::Value size, mlir::Value fullTiles,
                   llvm::function_ref<void()> inside);
  int64_t unitsTogether() const;
  void prefetch(const Output &output, llvm::SmallVector<tile::Point> points);
  void emitTile(llvm::ArrayRef<Output *> outputs);
  void storeStrided(const tile::Memory &memory, llvm::ArrayRef<tile::Point> points,
                    llvm::ArrayRef<mlir::Value> values);
  llvm::SmallVector<tile::Point> pointsOf(const Output &output) const;

  tile::LoopNest &nest;
  tile::TileEmitter &tiles;
  llvm::ArrayRef<int64_t> shape, rows, tile, order, spacing;
  std::vector<Output> outputs;
  size_t enterDepth = 0;
  EnterTile enter;
  llvm::SmallVector<tile::LinearExpr> coordinates;
  llvm::SmallVector<int64_t> extents;
};

} // namespace gradc::cpu

#endif
