// Schedule, scratch and time of kernels that compute a non-maximum suppression.
#include "passes/schedule/SuppressionKernel.h"

#include "dialects/grad/Grad.h"
#include "passes/schedule/OneOpKernel.h"
#include "passes/schedule/RowKernel.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// A suppression of boxes in f32 or f64.
static bool suits(Operation *op, const exec::KernelLimits &) {
  auto suppression = cast<NonMaxSuppressionOp>(op);
  return suppression.getResult().getType().getNumElements() > 0 &&
         isa<Float32Type, Float64Type>(suppression.getTop().getType().getElementType());
}

static exec::ScheduleAttr schedule(exec::KernelOp kernel, int64_t lanes, const exec::Level &level) {
  return scheduleRows(kernel, kernel.getRoot().getRank() - 1, exec::Algorithm::suppression, lanes,
                      level);
}

int64_t gradc::suppressionPieceBytes(exec::KernelOp kernel) {
  NonMaxSuppressionOp op = *kernel.getBlock().getOps<NonMaxSuppressionOp>().begin();
  RankedTensorType side = op.getTop().getType();
  int64_t boxes = llvm::alignTo(side.getDimSize(1), kernel.getScheduleAttr().getLanes());
  return llvm::alignTo(boxes * elementBytes(side.getElementType()), 64);
}

static int64_t scratchBytes(exec::KernelOp kernel, const exec::Level &) {
  return 5 * suppressionPieceBytes(kernel);
}

/// If one box in ten is a candidate, and one in a hundred is kept.
static double seconds(exec::KernelOp kernel, const exec::Level &) {
  constexpr double perBox = 1e-9, perVector = 8e-9; // estimates
  double boxes = double(kernel.getRoot().getShape().back());
  double rows = double(kernel.getRoot().getNumElements()) / boxes;
  return rows * boxes * (perBox + 0.1 * perVector * (1 + boxes / 100 / 16));
}

const OneOpKernel gradc::suppressionKernel = {
    .isOf = [](Operation *op) { return isa<NonMaxSuppressionOp>(op); },
    .suits = suits,
    .schedule = schedule,
    .seconds = seconds,
    .scratchBytes = scratchBytes,
};
