// Prefetches of what tiles read later, where the hardware's prefetchers do not follow.
#ifndef COMPILER_CODEGEN_TILE_PREFETCHER_H
#define COMPILER_CODEGEN_TILE_PREFETCHER_H

#include "compiler/codegen/tile/Window.h"

#include <set>

namespace gradc::tile {

class TileEmitter;

/// A step of a reduction: where in the op's domain, and the lanes that count there.
struct Step {
  llvm::SmallVector<LinearExpr> domain;
  int64_t valid;
};

class Prefetcher {
public:
  explicit Prefetcher(TileEmitter &tiles) : tiles(tiles) {}

  /// The cache lines of elements that are read later, each once.
  void lines(mlir::Value value, llvm::ArrayRef<Point> points, Memory::Cache cache);
  /// From now on, all tiles of rows read so many panels of a product's factor in turn before the
  /// next ones; 0: each tile reads them all.
  void readInTurn(int64_t panels) { panelsInTurn = panels; }
  /// What a reduction reads after these steps.
  void afterSteps(mlir::linalg::GenericOp op, const WindowReads &windows,
                  llvm::ArrayRef<Step> steps);
  /// The next tile reads the rows that are `distance` elements further along dim `dim` of the op's
  /// domain.
  struct Rows {
    unsigned dim;
    int64_t distance;
  };
  /// What these steps of the next tile read in other rows than those of this tile.
  void nextRows(mlir::linalg::GenericOp op, const Rows &next, llvm::ArrayRef<Step> steps);

private:
  using Lines = std::set<std::pair<const void *, LinearExpr>>;

  /// In a block of a sum: what steps read some steps, or some columns, later.
  void blockSteps(mlir::linalg::GenericOp op, const WindowReads &windows,
                  llvm::ArrayRef<Step> steps);
  /// The panels of a large factor: some steps ahead, and what comes after them.
  void panels(mlir::linalg::GenericOp op, const WindowReads &windows, llvm::ArrayRef<Step> steps);
  /// What comes long after `lines`, which these steps read of a factor in panels.
  std::set<LinearExpr> linesToCome(mlir::linalg::GenericOp op, mlir::OpOperand &factor,
                                   const Memory &memory, llvm::ArrayRef<Step> steps,
                                   const std::set<LinearExpr> &lines);
  std::optional<LinearExpr> lineOfShare(mlir::linalg::GenericOp op, mlir::OpOperand &factor,
                                        const Memory &memory, llvm::ArrayRef<Step> steps,
                                        int64_t linesPerStep);
  /// The rows of a row-major factor that the next tile reads.
  void rowsOfNextTile(mlir::linalg::GenericOp op, const WindowReads &windows,
                      llvm::ArrayRef<Step> steps);
  /// The lines of a point that are not among `known`.
  void once(mlir::Value value, const Point &point, Lines &known,
            Memory::Cache cache = Memory::Cache::first);

  TileEmitter &tiles;
  int64_t panelsInTurn = 0;
};

} // namespace gradc::tile

#endif
