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

/// Emits prefetches. All functions but `readInTurn` prefetch what their comments name.
class Prefetcher {
public:
  explicit Prefetcher(TileEmitter &tiles) : tiles(tiles) {}

  /// The cache lines of elements that are read later, each once.
  void lines(mlir::Value value, llvm::ArrayRef<Point> points, Memory::Cache cache);
  /// Sets how many panels of a product's factor every tile of rows reads before any tile reads the
  /// next panels; 0: each tile reads all panels before the next tile begins.
  void readInTurn(int64_t panels) { panelsInTurn = panels; }
  /// The operands of a reduction's later steps, and of the next tile's.
  void afterSteps(mlir::linalg::GenericOp op, const WindowReads &windows,
                  llvm::ArrayRef<Step> steps);
  /// The next tile reads the rows that are `distance` elements further along dim `dim` of the op's
  /// domain.
  struct Rows {
    unsigned dim;
    int64_t distance;
  };
  /// The rows that the next tile reads at these steps, and this tile does not.
  void nextRows(mlir::linalg::GenericOp op, const Rows &next, llvm::ArrayRef<Step> steps);

private:
  using Lines = std::set<std::pair<const void *, LinearExpr>>;

  /// In a block of a sum: what steps read some steps, or some columns, later.
  void blockSteps(mlir::linalg::GenericOp op, const WindowReads &windows,
                  llvm::ArrayRef<Step> steps);
  /// The panels of a large factor: some steps ahead, and what comes after them.
  void panels(mlir::linalg::GenericOp op, const WindowReads &windows, llvm::ArrayRef<Step> steps);
  /// The lines of a factor in panels to prefetch early. These steps read `lines`.
  std::set<LinearExpr> linesToCome(mlir::linalg::GenericOp op, mlir::OpOperand &factor,
                                   const Memory &memory, llvm::ArrayRef<Step> steps,
                                   const std::set<LinearExpr> &lines);
  /// The line of this panel that stands for this tile's share of the next panels.
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
