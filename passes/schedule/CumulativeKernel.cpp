// Schedule, scratch and time of kernels that compute a cumulative sum or product.
#include "passes/schedule/CumulativeKernel.h"

#include "dialects/grad/Grad.h"
#include "passes/schedule/OneOpKernel.h"
#include "passes/schedule/RowKernel.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// A cumulative sum or product of enough elements.
static bool suits(Operation *op, const exec::KernelLimits &limits) {
  auto cumulative = cast<CumulativeOp>(op);
  RankedTensorType type = cumulative.getType();
  return type.getNumElements() > 0 &&
         type.getDimSize(int64_t(cumulative.getDim())) >= limits.minCumulative;
}

std::optional<CumulativePlan> CumulativePlan::of(exec::KernelOp kernel) {
  auto ops = kernel.getBlock().getOps<CumulativeOp>();
  if (ops.empty())
    return std::nullopt;
  CumulativeOp op = *ops.begin();
  auto dim = int64_t(op.getDim());
  return CumulativePlan{dim, op.getType().getDimSize(dim), op.getKind() == CumulativeKind::sum,
                        op.getExclusive(), op.getReverse()};
}

/// A tile has neighbouring rows, side by side in vectors along the last dim, if that has several
/// elements and is not the accumulated dim. Otherwise a tile is one row.
static exec::ScheduleAttr schedule(exec::KernelOp kernel, int64_t lanes, const exec::Level &level) {
  constexpr int64_t mostVectors = 4; // estimate: as many additions as an addition takes cycles
  CumulativePlan plan = *CumulativePlan::of(kernel);
  RankedTensorType root = kernel.getRoot();
  int64_t last = root.getRank() - 1, columns = root.getDimSize(last);
  if (plan.dim == last || columns == 1 || kernel.getRowsOf(last) > 0)
    return scheduleRows(kernel, plan.dim, exec::Algorithm::cumulative, lanes, level);
  int64_t others = root.getNumElements() / (plan.size * columns);
  int64_t vectors = std::min<int64_t>(mostVectors, llvm::divideCeil(columns, lanes));
  // Threads share the tiles.
  while (vectors > 1 && others * llvm::divideCeil(columns, vectors * lanes) < exec::manyUnits)
    vectors /= 2;
  return scheduleRows(kernel, plan.dim, exec::Algorithm::cumulative, lanes, level, vectors * lanes);
}

/// The bytes of the sums of a tile of several rows.
static int64_t tileBytes(exec::KernelOp kernel) {
  Type element = kernel.getRoot().getElementType();
  int64_t bytes = isa<FloatType>(element) ? 8 : elementBytes(element); // floats are carried in f64
  return kernel.getScheduleAttr().getTile().back() * bytes;
}

int64_t gradc::cumulativeTilesTogether(exec::KernelOp kernel, const exec::Level &level) {
  // Where the steps of a tile lie on pages of their own, nothing is prefetched. Steps of so many
  // tiles take longer than a sum needs from its store to its next load.
  constexpr int64_t pageBytes = 4096, enoughTiles = 8;
  if (kernel.getScheduleAttr().getTile().back() <= 1)
    return 0;
  RankedTensorType root = kernel.getRoot();
  int64_t dim = CumulativePlan::of(kernel)->dim, last = root.getRank() - 1, apart = 1;
  for (int64_t d = dim + 1; d <= last; ++d)
    apart *= root.getDimSize(d);
  int64_t element = elementBytes(root.getElementType());
  if (dim == last || apart * element < pageBytes || exec::tilesAlong(kernel, last) < enoughTiles ||
      root.getNumElements() * element < level.cachedBytes())
    return 0;
  return std::max<int64_t>(level.l1Bytes / 2 / tileBytes(kernel), 1);
}

static int64_t scratchBytes(exec::KernelOp kernel, const exec::Level &level) {
  int64_t together = cumulativeTilesTogether(kernel, level);
  return together ? together * tileBytes(kernel) : 0;
}

static double seconds(exec::KernelOp kernel, const exec::Level &) {
  constexpr double perStep = 1.3e-9; // estimate: an addition waits for the one before it
  return perStep * double(exec::kernelUnits(kernel)) * double(CumulativePlan::of(kernel)->size);
}

const OneOpKernel gradc::cumulativeKernel = {
    .isOf = [](Operation *op) { return isa<CumulativeOp>(op); },
    .suits = suits,
    .schedule = schedule,
    .seconds = seconds,
    .scratchBytes = scratchBytes,
};
