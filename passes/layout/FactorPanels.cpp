// Decides by shapes and records the choice in the schedule, which code and scratch memory follow.
#include "passes/layout/FactorPanels.h"

#include "dialects/grad/Grad.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/kernel/Clusters.h"
#include "passes/kernel/CostModel.h"

using namespace mlir;

/// The units whose results fit in `bytes`, or one.
static int64_t unitsWithin(exec::KernelOp kernel, int64_t bytes) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  RankedTensorType root = kernel.getRoot();
  int64_t outer = schedule.getOrder().front(), rows = schedule.getTile()[outer];
  int64_t unit = rows * root.getDimSize(1 - outer) * (root.getElementTypeBitWidth() / 8);
  return std::max<int64_t>(bytes / unit, 1);
}

int64_t gradc::unitsPerWalk(exec::KernelOp kernel, const exec::Level &level) {
  return kernel.getRoot().getRank() == 2 ? unitsWithin(kernel, level.cachedBytes() * 2 / 5) : 0;
}

Operation *gradc::productOf(exec::KernelOp kernel) {
  for (Operation &op : kernel.getBlock()) {
    auto loops = dyn_cast<linalg::GenericOp>(op);
    if (isa<grad::ContractionOpInterface>(op) || (loops && loops.getNumReductionLoops() > 0))
      return &op;
  }
  return nullptr;
}

bool gradc::isPerElement(exec::KernelOp kernel, Operation *product) {
  return llvm::all_of(kernel.getBlock().without_terminator(), [&](Operation &op) {
    return &op == product || isFree(&op) || loopKind(&op) == grad::LoopKind::elementwise;
  });
}

static constexpr int64_t wide = 2048; ///< bytes of a row, half a page

/// Whether the rows of a factor are pages apart, or many of their lines share a cache set.
static bool readsBadly(RankedTensorType factor) {
  constexpr int64_t aliasing = 1024;
  int64_t rowBytes = factor.getDimSize(1) * factor.getElementTypeBitWidth() / 8;
  return rowBytes >= wide || rowBytes % aliasing == 0;
}

/// Whether the factor is an operand of the kernel that nothing else reads, row-major, of the
/// result's precision, with the sum along its first dim and a dim of the root along its second.
static bool runsAcross(exec::KernelOp kernel, grad::ContractionOpInterface product,
                       unsigned factor) {
  auto operand = dyn_cast<BlockArgument>(product->getOperand(factor));
  if (!operand || !operand.hasOneUse() || kernel.getLayout(operand.getArgNumber()))
    return false;
  auto type = cast<RankedTensorType>(operand.getType());
  grad::ContractionLetters letters = product.getLetters();
  StringRef own(factor == 0 ? letters.lhs : letters.rhs);
  return own.size() == 2 && letters.isSummed(own[0]) && own[1] == letters.result[factor] &&
         isa<Float32Type, Float64Type>(type.getElementType()) &&
         type.getElementType() == kernel.getRoot().getElementType();
}

static bool hasRows(exec::KernelOp kernel) {
  auto rows = kernel.getRows();
  return rows && llvm::any_of(*rows, [](int64_t n) { return n != 0; });
}

namespace {
class PanelChoice {
public:
  PanelChoice(exec::KernelOp kernel, const exec::Level &level)
      : kernel(kernel), level(level), schedule(kernel.getScheduleAttr()), root(kernel.getRoot()),
        tile(schedule.getTile()), order(schedule.getOrder()), block(schedule.getBlock()),
        product(dyn_cast_or_null<grad::ContractionOpInterface>(gradc::productOf(kernel))) {}

  exec::ScheduleAttr run() {
    if (!isProductOfMatrices())
      return schedule;
    if (copyBoth())
      return changed();
    choose();
    bool isWide = !panels[0] && runsAcross(kernel, product, 0) && widenRows();
    bool isShort = !panels[1] && shortenBlocks();
    if (!panels[0] && !panels[1])
      panels.clear();
    return panels.empty() && !isWide && !isShort ? schedule : changed();
  }

private:
  exec::ScheduleAttr changed() {
    int64_t units = tiles(order[0]), grain = gradc::CostModel(level).grain(kernel, units);
    if (!panels.empty() && panels[order[1]]) // each piece copies the inner factor
      grain = std::max({grain, few, int64_t(llvm::divideCeil(units, mostPieces))});
    return exec::ScheduleAttr::get(kernel.getContext(), schedule.getLanes(), tile, order, grain,
                                   block, panels, exec::TurnedAttr(), schedule.getAlgorithm(),
                                   schedule.getSpacing());
  }

  /// A lhs that is read in place across the sum gives few numbers of each of its rows to a tile, so
  /// the tile has as many rows as registers hold. Of short sums, most of the time is the storing of
  /// results, whose rows may lie in the same cache sets. Returns whether that changes it.
  bool widenRows() {
    constexpr int64_t shortSum = 16;
    if (factor(0).getDimSize(0) <= shortSum)
      return false;
    int64_t rows = std::max<int64_t>(root.getDimSize(0), 1);
    int64_t columns = tile[1] / schedule.getLanes();
    int64_t most = std::max((level.vectorRegisters - columns - 1) / columns, tile[0]);
    int64_t before = tile[0];
    tile[0] = llvm::divideCeil(rows, llvm::divideCeil(rows, most));
    return tile[0] != before;
  }

  /// A rhs that few row tiles read is as slow as memory, which delivers a row at once, but a column
  /// tile's part of each row is a page further on. So all columns take a few rows, then the next
  /// ones. Returns whether they do.
  bool shortenBlocks() {
    int64_t bytes = factor(1).getElementTypeBitWidth() / 8;
    if (tiles(0) >= few || order[0] != 1 || !runsAcross(kernel, product, 1) ||
        factor(1).getDimSize(1) * bytes <= wide ||
        factor(1).getNumElements() * bytes <= level.l2Bytes || kernel.getYielded().size() != 1 ||
        kernel.getYielded()[0] != product->getResult(0))
      return false;
    block = {gradc::fewSteps};
    return true;
  }

  bool isProductOfMatrices() {
    auto isRoot = [&](Value v) { return cast<RankedTensorType>(v.getType()) == root; };
    return !level.isCuda() && product && !product.getLetters().window && root.getRank() == 2 &&
           schedule.getAlgorithm() == exec::Algorithm::direct && block.size() <= 1 &&
           !schedule.getTurned() && exec::laneDim(tile, schedule.getLanes()) == 1 &&
           isRoot(product->getResult(0)) && root.getNumElements() > 0 &&
           factor(0).getNumElements() > 0 && llvm::all_of(kernel.getYielded(), isRoot) &&
           gradc::isPerElement(kernel, product) && !hasRows(kernel);
  }

  int64_t tiles(int64_t dim) { return llvm::divideCeil(root.getDimSize(dim), tile[dim]); }

  RankedTensorType factor(int64_t i) {
    return cast<RankedTensorType>(product->getOperand(unsigned(i)).getType());
  }

  int64_t panelBytes(int64_t i, int64_t steps) {
    return steps * tile[i] * (root.getElementTypeBitWidth() / 8);
  }

  /// Copies both factors if that pays. The panels of 512 rows are copied together and stay in the
  /// shared cache. All of them read a panel of columns before the next one is copied; every other
  /// group of rows copies it again. Each block reads and writes all results, so blocks are long.
  bool copyBoth() {
    constexpr int64_t mostRows = 512, mostSteps = 1024;
    if (!runsAcross(kernel, product, 0))
      return false;
    int64_t sum = factor(0).getDimSize(0), blocks = block.empty() ? 1 : sum / mostSteps;
    int64_t steps = llvm::divideCeil(sum, std::max<int64_t>(blocks, 1));
    int64_t fit = level.sharedCacheBytes() / 2 / panelBytes(0, steps);
    int64_t units = std::max<int64_t>(std::min({mostRows / tile[0], fit, tiles(0)}), 1);
    if (!paysCopy(0, tiles(1) / pieces) || !paysCopy(1, std::min(units, tiles(0) / pieces)))
      return false;
    block.clear();
    if (steps < sum)
      block = {steps};
    order = {0, 1};
    panels = {units, 1};
    return true;
  }

  /// The number of panels of each factor, if units are tiles of the outer dim.
  void choose() {
    bool isBlocked = !block.empty();
    int64_t outer = order[0], inner = 1 - outer, units = tiles(outer);
    panels.assign(2, 0);
    if (paysCopy(outer, tiles(inner))) {
      int64_t panel = panelBytes(outer, isBlocked ? block[0] : factor(outer).getDimSize(0));
      if (isBlocked) // results stay in cache from block to block
        units = std::min(units, unitsWithin(kernel, level.cachedBytes()));
      int64_t fit = level.cachedBytes() / 2 / panel;
      if (!isBlocked) { // long panels take all of the cache, or part of the next one
        constexpr int64_t some = 4;
        int64_t one = panel <= level.sharedCacheBytes() / 2 ? 1 : 0;
        fit = std::max({fit, std::min(some, level.l2Bytes / panel), one});
      }
      units = panels[outer] = std::min(fit, units);
    } else if (isBlocked) {
      units = std::min(units, gradc::unitsPerWalk(kernel, level));
    }
    if (paysCopy(inner, std::min(units, tiles(outer) / pieces)))
      panels[inner] = 1;
  }

  /// Whether it pays to copy factor `i`, which `readers` tiles read.
  bool paysCopy(int64_t i, int64_t readers) {
    return readers >= few && runsAcross(kernel, product, unsigned(i)) && readsBadly(factor(i)) &&
           factor(i).getDimSize(0) >= manySteps;
  }

  static constexpr int64_t few = 3;         ///< readers that pay for a copy, also in a piece
  static constexpr int64_t manySteps = 64;  ///< the pages of fewer are all in the first-level TLB
  static constexpr int64_t pieces = 4;      ///< of threads that have one each
  static constexpr int64_t mostPieces = 32; ///< of a launch whose pieces copy the inner factor
  exec::KernelOp kernel;
  const exec::Level &level;
  exec::ScheduleAttr schedule;
  RankedTensorType root;
  SmallVector<int64_t> tile, order, block, panels;
  grad::ContractionOpInterface product;
};
} // namespace

exec::ScheduleAttr gradc::withPanels(exec::KernelOp kernel, const exec::Level &level) {
  return PanelChoice(kernel, level).run();
}

RankedTensorType gradc::panelsType(exec::KernelOp kernel, unsigned factor) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  Operation *product = productOf(kernel);
  if (!product || !schedule || schedule.getPanels().empty() || !schedule.getPanels()[factor])
    return {};
  auto operand = cast<RankedTensorType>(product->getOperand(factor).getType());
  int64_t steps = schedule.getBlock().empty() ? operand.getDimSize(0) : schedule.getBlock().front();
  int64_t columns = schedule.getPanels()[factor] * schedule.getTile()[factor];
  return RankedTensorType::get({steps, columns}, operand.getElementType());
}

int64_t gradc::panelsOffset(exec::KernelOp kernel, unsigned factor, const exec::Level &level) {
  int64_t bytes = 0;
  for (unsigned before = 0; before < factor; ++before)
    if (RankedTensorType panels = panelsType(kernel, before))
      bytes += llvm::alignTo(grad::bytesOf(panels), level.lineBytes);
  return bytes;
}

int64_t gradc::panelsScratch(exec::KernelOp kernel, const exec::Level &level) {
  return panelsOffset(kernel, 2, level);
}
