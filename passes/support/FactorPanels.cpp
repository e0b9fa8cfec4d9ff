// Decides by shapes and records the choice in the schedule, which code and scratch memory follow.
#include "passes/support/FactorPanels.h"

#include "dialects/grad/Grad.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "passes/support/Clusters.h"
#include "passes/support/CostModel.h"

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

/// Whether the rows of a factor are pages apart, or many of their lines share a cache set.
static bool readsBadly(RankedTensorType factor) {
  constexpr int64_t wide = 2048, aliasing = 1024;
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
        tile(schedule.getTile()),
        product(dyn_cast_or_null<grad::ContractionOpInterface>(gradc::productOf(kernel))) {}

  exec::ScheduleAttr run() {
    if (!isProductOfMatrices())
      return schedule;
    SmallVector<int64_t> order(schedule.getOrder()), panels = choose(order[0]);
    // With rows as units, a panel of columns stays in the first-level cache while rows of the
    // results stream by.
    if (panels[0] && panels[1] && schedule.getBlock().empty() && order[0] == 1) {
      std::swap(order[0], order[1]);
      panels = choose(order[0]);
    }
    bool isWide = !panels[0] && runsAcross(kernel, product, 0) && widenRows();
    if (!panels[0] && !panels[1])
      panels.clear();
    if (panels.empty() && !isWide)
      return schedule;
    int64_t grain = gradc::CostModel(level).grain(kernel, tiles(order[0]));
    if (!panels.empty() && panels[order[1]]) // each piece copies the inner factor
      grain = std::max(grain, few);
    return exec::ScheduleAttr::get(kernel.getContext(), schedule.getLanes(), tile, order, grain,
                                   schedule.getBlock(), panels, schedule.getAlgorithm());
  }

private:
  /// A lhs that is read in place across the sum gives few numbers of each of its rows to a tile, so
  /// the tile has as many rows as registers hold. Returns whether that changes it.
  bool widenRows() {
    int64_t rows = std::max<int64_t>(root.getDimSize(0), 1);
    int64_t columns = tile[1] / schedule.getLanes();
    int64_t most = std::max((level.vectorRegisters - columns - 1) / columns, tile[0]);
    int64_t before = tile[0];
    tile[0] = llvm::divideCeil(rows, llvm::divideCeil(rows, most));
    return tile[0] != before;
  }

  bool isProductOfMatrices() {
    auto isRoot = [&](Value v) { return cast<RankedTensorType>(v.getType()) == root; };
    return !level.isCuda() && product && !product.getLetters().window && root.getRank() == 2 &&
           schedule.getAlgorithm() == exec::Algorithm::direct && schedule.getBlock().size() <= 1 &&
           !schedule.getTurned() && isRoot(product->getResult(0)) &&
           llvm::all_of(kernel.getYielded(), isRoot) && gradc::isPerElement(kernel, product) &&
           !hasRows(kernel);
  }

  int64_t tiles(int64_t dim) { return llvm::divideCeil(root.getDimSize(dim), tile[dim]); }

  RankedTensorType factor(int64_t i) {
    return cast<RankedTensorType>(product->getOperand(unsigned(i)).getType());
  }

  /// The number of panels of each factor, if units are tiles of the dim `outer`.
  SmallVector<int64_t> choose(int64_t outer) {
    bool isBlocked = !schedule.getBlock().empty();
    int64_t inner = 1 - outer, units = tiles(outer);
    SmallVector<int64_t> panels(2);
    if (paysCopy(outer, tiles(inner))) {
      int64_t steps = isBlocked ? schedule.getBlock()[0] : factor(outer).getDimSize(0);
      int64_t panel = steps * schedule.getTile()[outer] * (root.getElementTypeBitWidth() / 8);
      if (isBlocked) // results stay in cache from block to block
        units = std::min(units, unitsWithin(kernel, level.cachedBytes()));
      units = panels[outer] = std::min(level.cachedBytes() / 2 / panel, units);
    } else if (isBlocked) {
      units = std::min(units, gradc::unitsPerWalk(kernel, level));
    }
    // Four threads have a piece each.
    constexpr int64_t pieces = 4;
    if (paysCopy(inner, std::min(units, tiles(outer) / pieces)))
      panels[inner] = 1;
    return panels;
  }

  /// Whether it pays to copy factor `i`, which `readers` tiles read. The pages of fewer steps are
  /// all in the first-level TLB.
  bool paysCopy(int64_t i, int64_t readers) {
    constexpr int64_t manySteps = 64;
    return readers >= few && runsAcross(kernel, product, unsigned(i)) && readsBadly(factor(i)) &&
           factor(i).getDimSize(0) >= manySteps;
  }

  static constexpr int64_t few = 3; ///< readers that pay for a copy
  exec::KernelOp kernel;
  const exec::Level &level;
  exec::ScheduleAttr schedule;
  RankedTensorType root;
  SmallVector<int64_t> tile;
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
      bytes += llvm::alignTo(exec::layoutBytes(panels, nullptr), level.lineBytes);
  return bytes;
}

int64_t gradc::panelsScratch(exec::KernelOp kernel, const exec::Level &level) {
  return panelsOffset(kernel, 2, level);
}
