// Tiles and loop order of a kernel without a contraction, and what other schedules share with it.
#ifndef PASSES_SCHEDULE_LOOPSCHEDULE_H
#define PASSES_SCHEDULE_LOOPSCHEDULE_H

#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"

namespace gradc {

/// The tile of a kernel's root, and the order of its dims, as in exec.schedule.
class LoopSchedule {
public:
  LoopSchedule(mlir::exec::KernelOp kernel, const mlir::exec::Level &level);

  void scheduleLoops();
  /// Makes a dim outermost along which units add up the updates of their own targets, if there is
  /// one. Returns how many units do so together; 0: none.
  int64_t addUpUpdates();

protected:
  int64_t size(int64_t d) const { return root.getDimSize(d); }
  int64_t vectors(int64_t elements) const { return llvm::divideCeil(elements, lanes); }
  int64_t tiles(int64_t d) const { return llvm::divideCeil(size(d), tile[d]); }
  /// Threads share the tiles of the outermost dim. If it has too few, the first dim with enough
  /// tiles, or else the dim with the most, becomes outermost, but none that is reduced in the
  /// kernel. Lanes stay innermost.
  void divideUnits();
  /// Whether the kernel moves elements so that lanes along a result's last dim read an operand
  /// along a dim other than its last.
  bool isTransposed();
  /// Whether a result's dims are those of the outermost loops, as a single loop nest requires.
  bool isPrefix(llvm::ArrayRef<int64_t> order, llvm::ArrayRef<int64_t> shape) const;

  mlir::exec::KernelOp kernel;
  const mlir::exec::Level &level;
  mlir::RankedTensorType root;
  int64_t lanes;
  llvm::SmallVector<int64_t> tile, order;

private:
  mlir::exec::PanelAttr interleavedRoot();
  mlir::exec::PanelAttr commonPanels();
  mlir::exec::PanelAttr panelsAcrossRows();
  void walkInterleaved(mlir::exec::PanelAttr panel);
  void walkPanels(mlir::exec::PanelAttr panel);
  bool walkColumn();
  bool hasReduction();
  bool isReduced(int64_t dim);
  bool sumsColumns();
  bool reducesRows();
  bool reducesToRoot(bool alongRows);
  int64_t columnVectors();
  void transposeSquares();
  bool keepsResults();
  bool readsSquares();
  void boundCode();
};

} // namespace gradc

#endif
