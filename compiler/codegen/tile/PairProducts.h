// Sums of bf16 products whose rhs is stored in pairs along a summed dim.
#ifndef COMPILER_CODEGEN_TILE_PAIRPRODUCTS_H
#define COMPILER_CODEGEN_TILE_PAIRPRODUCTS_H

#include "compiler/codegen/tile/Amx.h"
#include "compiler/codegen/tile/Window.h"

#include <map>
#include <optional>

namespace gradc::tile {

class TileEmitter;

class PairProducts {
public:
  explicit PairProducts(TileEmitter &tiles) : tiles(tiles) {}

  /// Computes such a sum: two steps per instruction. False for other reductions.
  bool reduce(mlir::linalg::GenericOp op, mlir::OpResult result, llvm::ArrayRef<Point> points);

  /// Between these, sums are computed in AMX's tile registers. At depth 0.
  void takeTileRegisters();
  void releaseTileRegisters();
  /// Loads a sum of the last tile of blocks when it is needed: together they exceed the registers.
  /// False for other values.
  bool load(mlir::Value value, const Point &point);

private:
  struct Stored {
    const Memory *memory;
    Point at;
  };
  /// Where the value's element, or vector, is in memory, perhaps moved by ops that do nothing else.
  std::optional<Stored> storedAt(mlir::Value value, const Point &point);
  /// Whether the rhs' pairs are along that summed dim, lanes run along the columns, and rows belong
  /// to the lhs alone.
  bool arePairs(mlir::linalg::GenericOp op, mlir::OpResult result, unsigned dim,
                llvm::ArrayRef<Point> points);
  /// A sum: its dim of pairs, its other summed dims from the outermost on, and a tile of its
  /// result, each point with its place in the op's domain.
  struct Sum {
    mlir::linalg::GenericOp op;
    unsigned dim;
    llvm::SmallVector<unsigned> outer;
    llvm::ArrayRef<Point> points;
    llvm::SmallVector<llvm::SmallVector<LinearExpr>> domains;
  };
  /// The point of the lhs, as stored, at a step of the sum.
  Point rowOf(Sum &sum, const WindowReads &windows, size_t point, const LinearExpr &step);
  /// Adds the products of the pair that begins at `step`, or (without `both`) of its first
  /// elements, to the sums of all points. `lhs`: where its elements are stored.
  llvm::SmallVector<mlir::Value> multiply(Sum &sum, const WindowReads &windows, const Memory &lhs,
                                          const LinearExpr &step, bool both, mlir::ValueRange sums);
  /// The steps at `k` and (with `both`) `k + 1`.
  using PairStep = llvm::function_ref<llvm::SmallVector<mlir::Value>(LinearExpr k, bool both,
                                                                     mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> loop(mlir::linalg::GenericOp op, unsigned dim,
                                      mlir::ValueRange carried, PairStep step);

  // In tile registers.
  /// Computes the sum by blocks, for `load`. False if the tile does not consist of blocks.
  bool sumBlocks(Sum &sum, mlir::OpResult result);
  struct Blocks;
  std::optional<Blocks> findBlocks(Sum &sum);
  LinearExpr factorAt(Sum &sum, unsigned factor, size_t point, const LinearExpr &step);
  void multiplySteps(Sum &sum, const Blocks &blocks);
  void multiplyStep(Sum &sum, const Blocks &blocks, const LinearExpr &step, mlir::Value rest);

  TileEmitter &tiles;
  std::optional<Amx> amx; ///< while tile registers are in use
  /// Register and row of the last tile's sums, by value and point.
  std::map<std::pair<const void *, Point>, std::pair<int64_t, int64_t>> summed;
};

} // namespace gradc::tile

#endif
