// Schedule and time of kernels that compute a cumulative sum or product.
#include "passes/schedule/CumulativeKernel.h"

#include "dialects/grad/Grad.h"
#include "passes/schedule/RowKernel.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

bool gradc::isCumulativeKernel(Operation *op, const exec::KernelLimits &limits) {
  auto cumulative = dyn_cast<CumulativeOp>(op);
  if (!cumulative)
    return false;
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

exec::ScheduleAttr gradc::scheduleCumulative(exec::KernelOp kernel, const CumulativePlan &plan,
                                             int64_t lanes, const exec::Level &level) {
  constexpr int64_t mostVectors = 4; // estimate: as many additions as an addition takes cycles
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

double gradc::cumulativeSeconds(exec::KernelOp kernel) {
  constexpr double perStep = 1.3e-9; // estimate: an addition waits for the one before it
  return perStep * double(exec::kernelUnits(kernel)) * double(CumulativePlan::of(kernel)->size);
}
