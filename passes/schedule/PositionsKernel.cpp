// Schedule and time of kernels that find the coordinates of true elements.
#include "dialects/grad/Grad.h"
#include "passes/schedule/OneOpKernel.h"
#include "passes/schedule/RowKernel.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The positions of the true ones among enough elements.
static bool suits(Operation *op, const exec::KernelLimits &limits) {
  auto positions = cast<PositionsOp>(op);
  return cast<RankedTensorType>(op->getResult(0).getType()).getNumElements() > 0 &&
         positions.getOperand().getType().getNumElements() >= limits.minCumulative;
}

/// The result is one tile: where an element is stored depends on all before it.
static exec::ScheduleAttr schedule(exec::KernelOp kernel, int64_t lanes, const exec::Level &level) {
  return scheduleRows(kernel, /*dim=*/0, exec::Algorithm::positions, lanes, level,
                      /*columns=*/kernel.getRoot().getDimSize(1));
}

static double seconds(exec::KernelOp kernel, const exec::Level &) {
  constexpr double perElement = 0.7e-9; // estimate: a store for each dim, and a count that waits
  PositionsOp op = *kernel.getBlock().getOps<PositionsOp>().begin();
  return perElement * double(op.getOperand().getType().getNumElements());
}

const OneOpKernel gradc::positionsKernel = {
    .isOf = [](Operation *op) { return isa<PositionsOp>(op); },
    .suits = suits,
    .schedule = schedule,
    .seconds = seconds,
};
