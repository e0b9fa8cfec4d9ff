// The table of ops with a kernel of their own.
#include "passes/schedule/OneOpKernel.h"

using namespace mlir;
using namespace gradc;

static const OneOpKernel *const table[] = {&attentionKernel,  &sortKernel,    &suppressionKernel,
                                           &cumulativeKernel, &fourierKernel, &positionsKernel};

static const OneOpKernel *find(Operation *op) {
  const auto *found = llvm::find_if(table, [&](const OneOpKernel *row) { return row->isOf(op); });
  return found == std::end(table) ? nullptr : *found;
}

bool gradc::suitsOneOpKernel(Operation *op, const exec::KernelLimits &limits) {
  const OneOpKernel *row = find(op);
  return row && row->suits(op, limits);
}

const OneOpKernel *gradc::oneOpKernel(exec::KernelOp kernel) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  if (schedule && !schedule.isOfOneOp()) // it computes the op's decomposition
    return nullptr;
  for (Operation &op : kernel.getBlock())
    if (const OneOpKernel *row = find(&op))
      return row;
  return nullptr;
}
