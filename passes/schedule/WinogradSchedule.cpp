// Chooses blocks by the sizes of caches.
#include "passes/schedule/WinogradSchedule.h"

#include "dialects/grad/TensorTypes.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static int64_t largestDivisor(int64_t n, int64_t limit) {
  int64_t divisor = std::min(n, limit);
  while (n % divisor != 0)
    --divisor;
  return divisor;
}

static exec::Algorithm winogradOf(int64_t outputs) {
  return outputs == 4 ? exec::Algorithm::winograd4x4 : exec::Algorithm::winograd2x2;
}

void WinogradSchedule::filterTransform() {
  tile = {3, 3, isTransposed() ? lanes : 1, lanes * level.tileVectors};
  order = {3, 2, 0, 1};
}

std::pair<int64_t, int64_t> WinogradSchedule::windowsTogether(int64_t slots, int64_t channels,
                                                              int64_t batch, int64_t columns,
                                                              int64_t least) {
  int64_t window = slots * channels * 4; // bytes
  int64_t windows = std::max(level.cachedBytes() / window, least);
  int64_t pictures = largestDivisor(batch, windows);
  return {pictures, largestDivisor(columns, std::max<int64_t>(windows / pictures, 1))};
}

void WinogradSchedule::winograd(ContractionOpInterface op, int64_t outputs) {
  constexpr int64_t readsPerBlock = 4, bytesPerFlop = 2; // of a window: 4 bytes for 2 flops
  int64_t slots = exec::winogradSlots(outputs);
  int64_t channels = shapeOf(op->getOperand(0)).back(), filters = root.getShape().back();
  int64_t filterBytes = slots * channels * filters * 4, least = level.tileRows;
  bool staysInCache = filterBytes <= level.cachedBytes();
  int64_t leastUnits = filterBytes <= level.winogradBytes ? 4 : 2;
  if (!staysInCache)
    least = std::max<int64_t>(
        least, int64_t(readsPerBlock * bytesPerFlop * level.f32Flops / level.memoryBandwidth));
  auto [pictures, columns] = windowsTogether(slots, channels + filters, size(2),
                                             llvm::divideCeil(size(1), outputs), least);
  int64_t all = llvm::divideCeil(size(0), outputs), lines = 1;
  int64_t across = llvm::divideCeil(size(1), outputs) / columns;
  if (!staysInCache)
    lines = std::clamp<int64_t>(llvm::divideCeil(least, pictures * columns), 1,
                                llvm::divideCeil(all, llvm::divideCeil(leastUnits, across)));
  lines = llvm::divideCeil(all, llvm::divideCeil(all, lines));
  while (columns > 1 && int64_t(llvm::divideCeil(all, lines)) * across < leastUnits) {
    across = llvm::divideCeil(size(1), outputs);
    columns = largestDivisor(across, columns - 1);
    across /= columns;
  }
  tile = {outputs * lines, outputs * columns, pictures, lanes * level.tileVectors};
  algorithm = winogradOf(outputs);
}

void WinogradSchedule::winogradGradient(ContractionOpInterface op, int64_t outputs) {
  int64_t unit = winogradGradientChannels, slots = exec::winogradSlots(outputs);
  int64_t channels = winogradUnitsOf(size(2)) * unit, panel = lanes * level.tileVectors;
  int64_t filters = level.l2Bytes * 5 / 4 / (slots * channels * 4);
  ArrayRef<int64_t> gradient = shapeOf(op->getOperand(1));
  int64_t panels = largestDivisor(size(3) / panel, std::max<int64_t>(filters / panel, 1));
  tile = {3, 3, unit, panel * panels};
  order = {2, 3, 0, 1};
  auto [pictures, columns] = windowsTogether(slots, channels + tile[3], gradient[2],
                                             gradient[1] / outputs, level.tileRows);
  block = {outputs, outputs * columns, pictures};
  algorithm = winogradOf(outputs);
}
