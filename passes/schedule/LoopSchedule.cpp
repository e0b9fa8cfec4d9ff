// Walks panels as they are stored, rows that are reduced as a whole, and transposes in squares.
#include "passes/schedule/LoopSchedule.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/kernel/Clusters.h"
#include "passes/layout/FactorPanels.h"
#include "passes/layout/ScatterSums.h"
#include "passes/schedule/CodeSize.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;
using exec::PanelAttr;

LoopSchedule::LoopSchedule(exec::KernelOp kernel, const exec::Level &level)
    : kernel(kernel), level(level), root(kernel.getRoot()),
      lanes(level.vectorBytes / widestElement(kernel)), tile(root.getRank(), 1),
      order(llvm::to_vector(llvm::seq<int64_t>(0, root.getRank()))) {}

/// The layout of the root, if it is stored in interleaved panels; else null.
PanelAttr LoopSchedule::interleavedRoot() {
  PanelAttr layout = kernel.getLayout(kernel.getBlock().getNumArguments());
  return kernel.getYielded().size() == 1 && layout && layout.isInterleaved() ? layout : nullptr;
}

/// Packs all rows of a word, a few panels at a time, so that reads cover whole cache lines and
/// there are few write streams. Transposes go through registers in squares of numbers, or of
/// words if words run along the lanes.
void LoopSchedule::walkInterleaved(PanelAttr panel) {
  int64_t last = root.getRank() - 1;
  if (panel.getInterleaved() == last) {
    tile[last] = panel.getTogether() * lanes;
    tile[panel.getDim()] = lanes;
  } else if (isTransposed()) {
    tile[last] = tile[panel.getInterleaved()] = lanes;
  } else {
    tile[last] = lanes * std::min(level.chains, vectors(size(last)));
    tile[panel.getInterleaved()] = panel.getTogether();
  }
  order.erase(llvm::find(order, panel.getDim()));
  order.insert(order.begin(), panel.getDim());
}

/// The panels that everything as large as the root is stored in; null: some of it is stored
/// otherwise, or the kernel does not compute element by element.
PanelAttr LoopSchedule::commonPanels() {
  unsigned operands = kernel.getBlock().getNumArguments();
  PanelAttr common = kernel.getLayout(operands);
  auto isAlike = [&](Value v, unsigned i) {
    return shapeOf(v).empty() || (shapeOf(v) == root.getShape() && kernel.getLayout(i) == common);
  };
  for (BlockArgument argument : kernel.getBlock().getArguments())
    if (!isAlike(argument, argument.getArgNumber()))
      return nullptr;
  for (auto [i, v] : llvm::enumerate(kernel.getYielded()))
    if (!isAlike(v, operands + unsigned(i)))
      return nullptr;
  return hasReduction() || isTransposed() ? nullptr : common;
}

/// The panels of values of the only result, if they run across its rows while the kernel does not
/// move elements itself.
PanelAttr LoopSchedule::panelsAcrossRows() {
  PanelAttr layout = kernel.getLayout(kernel.getBlock().getNumArguments());
  bool isAcross =
      layout && layout.getKind() == exec::PanelKind::values && layout.getDim() + 1 < root.getRank();
  return isAcross && kernel.getYielded().size() == 1 && !hasReduction() && !isTransposed()
             ? layout
             : nullptr;
}

/// From end to end, a panel a unit: also what a rank owns is whole panels.
void LoopSchedule::walkPanels(PanelAttr panel) {
  int64_t last = root.getRank() - 1, dim = panel.getDim();
  tile[last] = lanes;
  tile[dim] = panel.getWidth();
  if (last > 0 && dim == last)
    tile[last - 1] = std::clamp<int64_t>(level.chains * lanes / tile[last], 1, size(last - 1));
  order.erase(llvm::find(order, dim));
  order.insert(order.begin(), dim);
}

/// Vectors of single columns run along the rows, which are adjacent. Returns whether that is so.
bool LoopSchedule::walkColumn() {
  int64_t last = root.getRank() - 1, dim = last;
  while (dim > 0 && size(dim) == 1)
    --dim;
  if (dim == last || size(dim) < 2 || !isPerElement(kernel, /*product=*/nullptr))
    return false;
  tile[dim] = lanes * std::min(level.chains, vectors(size(dim)));
  if (tiles(order.front()) < exec::manyUnits)
    divideUnits();
  return true;
}

void LoopSchedule::scheduleLoops() {
  int64_t last = root.getRank() - 1;
  int64_t rowTile = vectors(size(last));
  if (PanelAttr panel = interleavedRoot())
    return walkInterleaved(panel);
  if (PanelAttr panel = commonPanels())
    return walkPanels(panel);
  if (PanelAttr panel = panelsAcrossRows()) // transposed in registers, a square at a time
    return walkPanels(panel);
  if (walkColumn())
    return;
  bool wholeRow = hasReduction() && rowTile <= level.rowVectors;
  tile[last] = lanes * std::max<int64_t>(1, wholeRow ? rowTile : std::min(level.chains, rowTile));
  if (searchesUpdates(kernel)) {
    // A search reads all indices: 32 vectors share one, although they are more than registers hold,
    // since few are updated.
    constexpr int64_t most = 32;
    tile[last] = lanes * llvm::divideCeil(rowTile, llvm::divideCeil(rowTile, most));
  }
  if (sumsColumns())
    tile[last] = lanes * columnVectors();
  if (reducesRows()) // a vector of results has rows enough to hide latencies
    tile[last] = lanes;
  // With short rows, several fit in registers at once, which hides the latency of their
  // reductions.
  if (wholeRow && rowTile * level.chains <= level.rowVectors && last > 0)
    tile[last - 1] = std::clamp<int64_t>(size(last - 1), 1, level.chains);
  if (isTransposed() && last > 0)
    transposeSquares();
  // Column sums read whole rows: their tiles are as wide as that needs.
  if (!searchesUpdates(kernel) && !readsSquares() && !sumsColumns())
    boundCode();
  if (tiles(order.front()) < exec::manyUnits)
    divideUnits();
}

/// Whether a tile has to be a square of registers, because a transposed operand is loaded as one.
/// Elements that indices choose are loaded one by one.
bool LoopSchedule::readsSquares() {
  auto isByIndices = [](Operation *op) { return op && movesByIndices(op); };
  return llvm::any_of(kernel.getBlock(), [&](Operation &op) {
    return movesLanes(&op) && !isByIndices(&op) && !isByIndices(op.getOperand(0).getDefiningOp());
  });
}

/// Makes the tile smaller while its code is so long that unrolling it gains nothing: it fills the
/// instruction cache, and the compiler takes seconds. Each step halves the dim that saves most.
void LoopSchedule::boundCode() {
  constexpr int64_t most = 4096; // instructions; estimate: as many bytes as the first-level cache
  CodeSize code(kernel, level, lanes);
  for (int64_t now = code.of(tile); now > most;) {
    SmallVector<int64_t> best;
    for (auto [d, extent] : llvm::enumerate(tile)) {
      int64_t unit = d + 1 == tile.size() ? lanes : 1;
      SmallVector<int64_t> smaller(tile);
      smaller[d] = unit * llvm::divideCeil(extent / unit, 2);
      if (int64_t size = code.of(smaller); extent > unit && size < now) {
        now = size;
        best = smaller;
      }
    }
    if (best.empty())
      return;
    tile = best;
  }
}

/// Transposes go through registers, a square at a time: lanes along the last dim are written, those
/// along the dim where the operand's last dim lies are read. Panels are written one after another.
void LoopSchedule::transposeSquares() {
  int64_t last = root.getRank() - 1, rows = last - 1;
  for (auto movement : kernel.getBlock().getOps<MovementOpInterface>()) {
    SmallVector<int64_t> dims = movement.getResultDims();
    if (shapeOf(movement->getResult(0)) == root.getShape() && !dims.empty() && dims.back() >= 0 &&
        dims.back() < last && llvm::is_contained(dims, last))
      rows = dims.back();
  }
  std::fill(tile.begin(), tile.end(), 1);
  tile[last] = lanes;
  tile[rows] = std::clamp<int64_t>(size(rows), 1, lanes);
  PanelAttr panel = kernel.getLayout(kernel.getBlock().getNumArguments());
  if (!panel || kernel.getYielded().size() != 1)
    return;
  order.erase(llvm::find(order, panel.getDim()));
  order.insert(order.begin(), panel.getDim());
}

/// Whether the order is one that all results allow.
bool LoopSchedule::keepsResults() {
  return llvm::all_of(kernel.getYielded(), [&](Value v) { return isPrefix(order, shapeOf(v)); });
}

/// Whether the root is what remains of rows that are folded into one.
bool LoopSchedule::sumsColumns() { return reducesToRoot(/*alongRows=*/false); }

/// Whether each element of the root is what remains of a row.
bool LoopSchedule::reducesRows() { return reducesToRoot(/*alongRows=*/true); }

bool LoopSchedule::reducesToRoot(bool alongRows) {
  auto reductions = kernel.getBlock().getOps<ReductionOpInterface>();
  return !reductions.empty() && llvm::all_of(reductions, [&](auto reduction) {
    int64_t inner = shapeOf(reduction->getOperand(0)).size() - 1;
    return shapeOf(reduction->getResult(0)) == root.getShape() &&
           llvm::is_contained(reduction.getReducedDims(), inner) == alongRows;
  });
}

/// The vectors of columns that a tile of a column sum reads from each row: as many as registers
/// hold, or fewer if threads would otherwise have too few units. If operands come from memory and
/// threads share another dim, a tile reads whole rows, which prefetchers follow; that outweighs
/// accumulators that do not fit in registers.
int64_t LoopSchedule::columnVectors() {
  constexpr int64_t most = 64;
  int64_t row = std::max<int64_t>(vectors(size(root.getRank() - 1)), 1);
  bool readsMemory = int64_t(kernel.getBytes().value_or(0)) > level.cachedBytes();
  if (readsMemory && root.getRank() > 1 && size(0) >= exec::manyUnits)
    return llvm::divideCeil(row, llvm::divideCeil(row, most));
  return std::clamp<int64_t>(row / exec::manyUnits, std::min(level.chains, row),
                             level.vectorRegisters / 2);
}

/// Whether values of the root are computed from a reduction over this dim of it, which each unit
/// along the dim would compute anew.
bool LoopSchedule::isReduced(int64_t dim) {
  return llvm::any_of(kernel.getBlock().getOps<ReductionOpInterface>(), [&](auto reduction) {
    return shapeOf(reduction->getOperand(0)) == root.getShape() &&
           llvm::is_contained(reduction.getReducedDims(), dim);
  });
}

void LoopSchedule::divideUnits() {
  SmallVector<int64_t> before = order;
  auto enough = [&](int64_t d) { return isReduced(d) ? 0 : std::min(tiles(d), exec::manyUnits); };
  auto *most = std::max_element(order.begin(), order.end() - 1,
                                [&](int64_t a, int64_t b) { return enough(a) < enough(b); });
  std::rotate(order.begin(), most, most + 1);
  if (!keepsResults())
    order = before;
}

int64_t LoopSchedule::addUpUpdates() {
  SmallVector<int64_t> before = order, best = order;
  int64_t together = 0, most = 0; // of the best order: units together, and units to share
  for (size_t i = 0; i < before.size(); ++i) {
    // Lanes stay innermost.
    if (i > 0 && (i + 1 == before.size() || isReduced(before[i])))
      continue;
    order = before;
    std::rotate(order.begin(), order.begin() + i, order.begin() + i + 1);
    if (i > 0 && !keepsResults())
      continue;
    int64_t units = scatterUnits(kernel, tile, order, level);
    int64_t shared = std::min(tiles(order.front()), exec::manyUnits);
    if (units && shared > most) {
      together = units, most = shared;
      best = order;
    }
  }
  order = best;
  return together;
}

bool LoopSchedule::isPrefix(ArrayRef<int64_t> order, ArrayRef<int64_t> shape) const {
  auto has = [&](int64_t d) { return d < int64_t(shape.size()) && shape[d] == size(d); };
  return std::is_partitioned(order.begin(), order.end(), has);
}

bool LoopSchedule::hasReduction() {
  return llvm::any_of(kernel.getBlock(),
                      [](Operation &op) { return loopKind(&op) == LoopKind::reduction; });
}

bool LoopSchedule::isTransposed() {
  return llvm::any_of(kernel.getBlock(), [](Operation &op) { return movesLanes(&op); });
}
