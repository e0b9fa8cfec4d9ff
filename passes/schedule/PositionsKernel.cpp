// Schedule and time of kernels that find the coordinates of true elements.
#include "passes/schedule/PositionsKernel.h"

#include "dialects/grad/Grad.h"
#include "passes/schedule/RowKernel.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

bool gradc::isPositionsKernel(Operation *op, const exec::KernelLimits &limits) {
  auto positions = dyn_cast<PositionsOp>(op);
  return positions && cast<RankedTensorType>(op->getResult(0).getType()).getNumElements() > 0 &&
         positions.getOperand().getType().getNumElements() >= limits.minCumulative;
}

bool gradc::isPositionsKernel(exec::KernelOp kernel) {
  return !kernel.getBlock().getOps<PositionsOp>().empty();
}

exec::ScheduleAttr gradc::schedulePositions(exec::KernelOp kernel, int64_t lanes,
                                            const exec::Level &level) {
  return scheduleRows(kernel, /*dim=*/0, exec::Algorithm::positions, lanes, level,
                      /*columns=*/kernel.getRoot().getDimSize(1));
}

double gradc::positionsSeconds(exec::KernelOp kernel) {
  constexpr double perElement = 0.7e-9; // estimate: a store for each dim, and a count that waits
  PositionsOp op = *kernel.getBlock().getOps<PositionsOp>().begin();
  return perElement * double(op.getOperand().getType().getNumElements());
}
