// Scratch and time of kernels that compute a non-maximum suppression.
#include "passes/schedule/SuppressionKernel.h"

using namespace mlir;
using namespace mlir::grad;

bool gradc::isSuppressionKernel(Operation *op) {
  auto suppression = dyn_cast<NonMaxSuppressionOp>(op);
  return suppression && suppression.getResult().getType().getNumElements() > 0 &&
         isa<Float32Type, Float64Type>(suppression.getTop().getType().getElementType());
}

bool gradc::isSuppressionKernel(exec::KernelOp kernel) {
  return llvm::any_of(kernel.getBlock(), [](Operation &op) { return isSuppressionKernel(&op); });
}

int64_t gradc::suppressionPieceBytes(exec::KernelOp kernel) {
  NonMaxSuppressionOp op = *kernel.getBlock().getOps<NonMaxSuppressionOp>().begin();
  RankedTensorType side = op.getTop().getType();
  int64_t boxes = llvm::alignTo(side.getDimSize(1), kernel.getScheduleAttr().getLanes());
  return llvm::alignTo(boxes * elementBytes(side.getElementType()), 64);
}

int64_t gradc::suppressionScratchBytes(exec::KernelOp kernel) {
  return kernel.getScheduleAttr() && isSuppressionKernel(kernel) ? 5 * suppressionPieceBytes(kernel)
                                                                 : 0;
}

double gradc::suppressionSeconds(exec::KernelOp kernel) {
  constexpr double perBox = 1e-9, perVector = 8e-9; // estimates
  double boxes = double(kernel.getRoot().getShape().back());
  double rows = double(kernel.getRoot().getNumElements()) / boxes;
  return rows * boxes * (perBox + 0.1 * perVector * (1 + boxes / 100 / 16));
}
