// Roofline estimates: work divided by the rates of a level.
#include "passes/kernel/CostModel.h"

#include "dialects/grad/Grad.h"
#include "passes/kernel/Clusters.h"

#include <cmath>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Another thread pays if its work takes this many times as long as distributing it (the team's
/// barrier, and cache lines that move between cores).
static constexpr double piecePerLaunch = 10;

static Operation *findContraction(exec::KernelOp kernel) {
  for (Operation &op : kernel.getBlock())
    if (loopKind(&op) == LoopKind::contraction)
      return &op;
  return nullptr;
}

Cost CostModel::kernel(exec::KernelOp kernel) const {
  double flops = double(kernel.getFlops().value_or(0)),
         bytes = double(kernel.getBytes().value_or(0));
  Cost cost;
  cost.traffic = bytes / (level.isCuda() ? level.memoryBandwidth : level.cacheBandwidth);
  Operation *contraction = findContraction(kernel);
  if (contraction && level.isCuda()) {
    cost.arithmetic = flops / (level.f32Flops * level.gpu->generatedShare);
  } else if (contraction) {
    Type factor = getElementTypeOrSelf(contraction->getOperand(0).getType());
    double bf16Flops =
        level.amxRows && !kernel.readsPairs() ? level.unpairedFlops : level.bf16Flops;
    cost.arithmetic = flops / (factor.isBF16()       ? bf16Flops
                               : factor.isInteger(8) ? level.int8Flops
                                                     : level.f32Flops);
  } else {
    cost.arithmetic = flops / level.loopFlops;
  }
  return cost;
}

double CostModel::floor(int64_t flops, int64_t bytes) const {
  return std::max(double(flops) / level.f32Flops, double(bytes) / level.memoryBandwidth);
}

bool CostModel::isSmall(exec::KernelOp op) const {
  Cost cost = kernel(op);
  return cost.arithmetic < level.launch && cost.traffic < level.launch;
}

int64_t CostModel::grain(exec::KernelOp op, int64_t units, double repeated) const {
  Cost cost = kernel(op);
  double seconds = std::max(cost.arithmetic + cost.traffic, 1e-9);
  double least = piecePerLaunch * level.launch + repeated;
  return std::clamp<int64_t>(int64_t(least * double(units) / seconds), 1, units);
}

bool CostModel::paysPacking(exec::KernelOp product, ArrayRef<Type> factors) const {
  double flops = double(product.getFlops().value_or(0)), seconds = 0;
  for (Type factor : factors) {
    int64_t bytes = bytesOf(cast<RankedTensorType>(factor));
    seconds += level.launch + 2 * double(bytes) / level.cacheBandwidth;
  }
  bool areBytes =
      !factors.empty() && getElementTypeOrSelf(factors[0]).isInteger(8); // widened one by one
  double saved = areBytes ? flops / level.f32Flops - flops / level.int8Flops
                          : flops / level.unpairedFlops - flops / level.bf16Flops;
  return saved > seconds;
}

bool CostModel::paysTransform(exec::KernelOp convolution, RankedTensorType filter,
                              exec::PanelAttr layout) const {
  constexpr double leastShare = 0.2; // of the direct time: 1.25 times as fast (record 024)
  int64_t bytes = bytesOf(filter) + exec::layoutBytes(filter, layout);
  double flops = double(convolution.getFlops().value_or(0));
  return leastShare * flops / level.f32Flops > level.launch + double(bytes) / level.memoryBandwidth;
}

double CostModel::savedByLibrary(Operation *contraction) const {
  const exec::Gpu &gpu = *level.gpu;
  double flops = double(cast<CostOpInterface>(contraction).getFlops());
  double results =
      double(cast<RankedTensorType>(contraction->getResult(0).getType()).getNumElements());
  // Generated code sums a tile of the result in one block, on one multiprocessor; libraries share
  // long sums among several.
  double busy = std::min(1.0, std::ceil(results / gpu.productBlock) / gpu.multiprocessors);
  return flops / level.f32Flops * (1 / (gpu.generatedShare * busy) - 1 / gpu.libraryShare) -
         gpu.callSeconds;
}

double CostModel::copy(Type tensor) const {
  int64_t bytes = bytesOf(cast<RankedTensorType>(tensor));
  return level.launch + 2 * double(bytes) / level.memoryBandwidth;
}
