// Checks the operands' layouts and the windows of convolutions.
#include "passes/layout/Winograd.h"

#include "dialects/grad/TensorTypes.h"
#include "dialects/grad/math/Window.h"

using namespace mlir;
using namespace mlir::grad;

static bool isF32(Value v) { return getElementTypeOrSelf(v).isF32(); }
static bool isFloat(Value v) { return isa<FloatType>(getElementTypeOrSelf(v)); }

static bool isAll(ArrayRef<int64_t> values, int64_t one) {
  return llvm::all_of(values, [&](int64_t v) { return v == one; });
}
static bool isAllAtLeast(ArrayRef<int64_t> values, int64_t least) {
  return llvm::all_of(values, [&](int64_t v) { return v >= least; });
}

/// Whether windows over two dims have stride 1 without dilation and cropping; padding is allowed.
static bool isPlain(WindowAttr window) {
  return window.getRank() == 2 && isAll(window.getStride(), 1) && isAll(window.getBase(), 1) &&
         isAll(window.getDilation(), 1) && isAllAtLeast(window.getLow(), 0) &&
         isAllAtLeast(window.getHigh(), 0);
}

/// The m, at most `most`, for which F(m x m, 3x3) multiplies least for pictures [height, width,
/// ..], or 0. They consist of blocks of m x m, of which the last ones may be cut off along dims
/// where `mayCut`.
static int64_t outputsOf(ArrayRef<int64_t> picture, int64_t most, const exec::Level &level,
                         llvm::function_ref<bool(int64_t)> mayCut) {
  if (!isAllAtLeast(picture.take_front(2), level.winogradPicture))
    return 0;
  int64_t best = 0, least = INT64_MAX;
  for (int64_t m = 2; m <= most; m += 2) {
    int64_t products = exec::winogradSlots(m);
    bool consistsOfBlocks = true;
    for (int64_t d : {0, 1}) {
      products *= llvm::divideCeil(picture[d], m);
      consistsOfBlocks &= picture[d] % m == 0 || mayCut(d);
    }
    if (consistsOfBlocks && products < least)
      best = m, least = products;
  }
  return best;
}

/// The largest m for a filter that is stored transformed. A large one is read, and refreshed by
/// each update, for the sake of many windows only; whatever the number of pictures is, so that all
/// entries of a program read the same copy.
static int64_t mostOutputs(ArrayRef<int64_t> picture, int64_t channels, int64_t filters,
                           const exec::Level &level) {
  int64_t bytes = exec::winogradSlots(4) * channels * filters * int64_t(sizeof(float));
  return bytes <= level.winogradBytes || picture[0] * picture[1] >= level.winogradPositions ? 4 : 2;
}

static bool hasChannels(int64_t channels, int64_t filters, const exec::Level &level) {
  int64_t lanes = level.vectorBytes / 4;
  return level.winogradChannels > 0 && std::min(channels, filters) >= level.winogradChannels &&
         channels % lanes == 0 && filters % (lanes * level.tileVectors) == 0;
}

int64_t gradc::winogradOutputs(exec::KernelOp kernel, const exec::Level &level) {
  auto contractions = kernel.getBlock().getOps<ContractionOpInterface>();
  if (contractions.empty())
    return 0;
  ContractionOpInterface op = *contractions.begin();
  ContractionLetters letters = op.getLetters();
  auto [lhs, rhs, result, window] = letters;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  if (!window || !isF32(op->getResult(0)) || !llvm::all_of(op->getOperands(), isFloat) ||
      !isPlain(window) || !isAll(window.getSize(), 3) || lhs.size() != 2 || rhs.size() != 2 ||
      result.size() != 2 || lhs[0] != result[0] || !letters.isRow(lhs[0]) ||
      !hasChannels(shapeOf(op->getOperand(0)).back(), shape.back(), level) ||
      !llvm::all_of(kernel.getYielded(), [&](Value v) { return shapeOf(v) == shape; }))
    return 0;
  // The last blocks of a padded dim read further than the window does, which padding allows.
  int64_t most = mostOutputs(shape, shapeOf(op->getOperand(0)).back(), shape.back(), level);
  return outputsOf(shape, most, level,
                   [&](int64_t d) { return window.getLow()[d] + window.getHigh()[d] > 0; });
}

int64_t gradc::winogradGradientOutputs(ContractionOpInterface op, const exec::Level &level) {
  auto [lhs, rhs, result, window] = op.getLetters();
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  if (!window || !isF32(op->getResult(0)) || !isPlain(window) || window.getReversed() ||
      lhs.size() != 2 || rhs.size() != 2 || result.size() != 2 || lhs[0] != rhs[0] ||
      result[0] != lhs[1] || result[1] != rhs[1] || !isAll(shape.take_front(2), 3) ||
      shape[2] % winogradGradientChannels != 0 || !hasChannels(shape[2], shape[3], level))
    return 0;
  return outputsOf(shapeOf(op->getOperand(1)), 4, level, [](int64_t) { return false; });
}

// convolution-bench: four together take 16 to 29 % less time.
static constexpr int64_t mostUnitsTogether = 4;

int64_t gradc::winogradUnitsOf(int64_t channels) {
  return std::min(channels / winogradGradientChannels, mostUnitsTogether);
}

int64_t gradc::winogradUnitsTogether(exec::KernelOp kernel) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  if (!schedule || !schedule.getWinogradOutputs() || schedule.getBlock().empty())
    return 1;
  return std::min(int64_t(llvm::divideCeil(kernel.getRoot().getDimSize(2), schedule.getTile()[2])),
                  mostUnitsTogether);
}

void gradc::countWinogradFlops(exec::KernelOp kernel) {
  int64_t outputs = kernel.getScheduleAttr().getWinogradOutputs();
  if (!outputs || !kernel.getFlops())
    return;
  int64_t direct = 0;
  for (auto op : kernel.getBlock().getOps<ContractionOpInterface>())
    direct += cast<CostOpInterface>(op.getOperation()).getFlops();
  kernel.setFlops(*kernel.getFlops() - direct +
                  direct * exec::winogradSlots(outputs) / (9 * outputs * outputs));
}

int64_t gradc::winogradSlotElements(int64_t rows, int64_t channels, const exec::Level &level) {
  return rows * channels + level.lineBytes / int64_t(sizeof(float));
}

std::optional<unsigned> gradc::transformedFilter(exec::KernelOp kernel) {
  for (unsigned i = 0; i < kernel.getBlock().getNumArguments(); ++i)
    if (exec::PanelAttr layout = kernel.getLayout(i); layout && layout.isWinograd())
      return i;
  return std::nullopt;
}

int64_t gradc::winogradScratch(exec::KernelOp kernel, const exec::Level &level) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  int64_t outputs = schedule ? schedule.getWinogradOutputs() : 0;
  if (!outputs)
    return 0;
  ArrayRef<int64_t> tile = schedule.getTile(), block = schedule.getBlock();
  int64_t elements = 0;
  auto add = [&](int64_t rows, int64_t channels) {
    elements += exec::winogradSlots(outputs) * winogradSlotElements(rows, channels, level);
  };
  if (!block.empty()) { // a filter's gradient: windows of both pictures, and the sums
    int64_t rows = block[1] / outputs * block[2];
    int64_t channels = winogradUnitsTogether(kernel) * tile[2];
    add(rows, channels);
    add(rows, tile[3]);
    add(channels, tile[3]);
  } else {
    ContractionOpInterface op = *kernel.getBlock().getOps<ContractionOpInterface>().begin();
    int64_t rows = tile[0] / outputs * (tile[1] / outputs) * tile[2];
    add(rows, shapeOf(op->getOperand(0)).back());
    add(rows, shapeOf(op->getResult(0)).back());
  }
  return elements * int64_t(sizeof(float));
}
