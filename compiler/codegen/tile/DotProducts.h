// Sums of products of 16-bit floats or 8-bit integers, or of floats and 4-bit integers, whose rhs
// is interleaved along a summed dim.
#ifndef COMPILER_CODEGEN_TILE_DOTPRODUCTS_H
#define COMPILER_CODEGEN_TILE_DOTPRODUCTS_H

#include "compiler/codegen/tile/Amx.h"
#include "compiler/codegen/tile/DotFactors.h"
#include "compiler/codegen/tile/Window.h"

#include <map>
#include <optional>

namespace gradc::tile {

class TileEmitter;

class DotProducts {
public:
  explicit DotProducts(TileEmitter &tiles) : tiles(tiles) {}

  /// Computes such a sum: a word of steps per instruction. False for other reductions.
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
  /// A sum: its dim of words, its other summed dims from the outermost on, and a tile of its
  /// result, each point with its place in the op's domain.
  struct Sum {
    mlir::linalg::GenericOp op;
    DotKind kind;
    int64_t together; ///< steps of a word
    unsigned dim;
    llvm::SmallVector<unsigned> outer;
    llvm::ArrayRef<Point> points;
    llvm::SmallVector<llvm::SmallVector<LinearExpr>> domains;
  };
  /// Whether the rhs' words are along that summed dim, lanes run along the columns, and rows belong
  /// to the lhs alone.
  bool areWords(Sum &sum, mlir::OpResult result, unsigned dim);
  /// The point of the lhs, as stored, at a step of the sum.
  Point rowOf(Sum &sum, const WindowReads &windows, size_t point, const LinearExpr &step);
  /// Adds the products of the first `count` steps of the word that begins at `step` to the sums of
  /// all points. `lhs`: where its elements are stored.
  llvm::SmallVector<mlir::Value> multiply(Sum &sum, const WindowReads &windows, const Memory &lhs,
                                          const LinearExpr &step, int64_t count,
                                          mlir::ValueRange sums);
  /// The same for floats and a whole word of codes.
  llvm::SmallVector<mlir::Value> multiplyCodes(Sum &sum, const WindowReads &windows,
                                               const LinearExpr &step, mlir::ValueRange sums);
  /// The first `count` steps of the word that begins at `k`.
  using WordStep = llvm::function_ref<llvm::SmallVector<mlir::Value>(LinearExpr k, int64_t count,
                                                                     mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> loop(Sum &sum, mlir::ValueRange carried, WordStep step);

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
