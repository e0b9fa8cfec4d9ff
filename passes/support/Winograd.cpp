// Checks the operands' layouts and the windows of convolutions.
#include "passes/support/Winograd.h"

#include "dialects/grad/Window.h"

using namespace mlir;
using namespace mlir::grad;

static ArrayRef<int64_t> shapeOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }
static Type elementOf(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
}

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

/// Whether a picture [height, width, ..] reaches the level's min size and consists of 2x2 blocks.
static bool hasWholeBlocks(ArrayRef<int64_t> picture, const exec::Level &level) {
  return isAllAtLeast(picture.take_front(2), level.winogradPicture) && picture[0] % 2 == 0 &&
         picture[1] % 2 == 0;
}

/// The same, where the last block of a padded dim may be cut off: it reads further than the window
/// does, which padding allows.
static bool hasBlocks(ArrayRef<int64_t> picture, WindowAttr window, const exec::Level &level) {
  auto isPadded = [&](int64_t d) { return window.getLow()[d] + window.getHigh()[d] > 0; };
  return isAllAtLeast(picture.take_front(2), level.winogradPicture) &&
         (picture[0] % 2 == 0 || isPadded(0)) && (picture[1] % 2 == 0 || isPadded(1));
}

static bool hasChannels(int64_t channels, int64_t filters, const exec::Level &level, Type element) {
  int64_t lanes = level.vectorBytes / 4;
  return element.isF32() && level.winogradChannels > 0 &&
         std::min(channels, filters) >= level.winogradChannels && channels % lanes == 0 &&
         filters % (lanes * level.tileVectors) == 0;
}

bool gradc::suitsWinograd(exec::KernelOp kernel, const exec::Level &level) {
  auto contractions = kernel.getBlock().getOps<ContractionOpInterface>();
  if (contractions.empty())
    return false;
  ContractionOpInterface op = *contractions.begin();
  ContractionLetters letters = op.getLetters();
  auto [lhs, rhs, result, window] = letters;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  return window && isPlain(window) && isAll(window.getSize(), 3) && lhs.size() == 2 &&
         rhs.size() == 2 && result.size() == 2 && lhs[0] == result[0] && letters.isRow(lhs[0]) &&
         hasBlocks(shape, window, level) &&
         hasChannels(shapeOf(op->getOperand(0)).back(), shape.back(), level, elementOf(op)) &&
         llvm::all_of(kernel.getYielded(), [&](Value v) {
           return cast<RankedTensorType>(v.getType()).getShape() == shape;
         });
}

bool gradc::suitsWinogradGradient(ContractionOpInterface op, const exec::Level &level) {
  auto [lhs, rhs, result, window] = op.getLetters();
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  return window && isPlain(window) && !window.getReversed() && lhs.size() == 2 && rhs.size() == 2 &&
         result.size() == 2 && lhs[0] == rhs[0] && result[0] == lhs[1] && result[1] == rhs[1] &&
         isAll(shape.take_front(2), 3) && hasWholeBlocks(shapeOf(op->getOperand(1)), level) &&
         shape[2] % winogradGradientChannels == 0 &&
         hasChannels(shape[2], shape[3], level, elementOf(op));
}

int64_t gradc::winogradSlotElements(int64_t rows, int64_t channels, const exec::Level &level) {
  return rows * channels + level.lineBytes / int64_t(sizeof(float));
}

int64_t gradc::winogradScratch(exec::KernelOp kernel, const exec::Level &level) {
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  bool readsTransformed =
      llvm::any_of(llvm::seq(kernel.getBlock().getNumArguments()), [&](unsigned i) {
        exec::PanelAttr layout = kernel.getLayout(i);
        return layout && layout.isWinograd();
      });
  if (!schedule || !(readsTransformed || schedule.isWinograd()))
    return 0;
  ArrayRef<int64_t> tile = schedule.getTile(), block = schedule.getBlock();
  int64_t elements = 0;
  auto add = [&](int64_t rows, int64_t channels) {
    elements += winogradSlots * winogradSlotElements(rows, channels, level);
  };
  if (!readsTransformed) { // a filter's gradient: windows of both pictures, and the sums
    int64_t rows = block[1] / 2 * block[2];
    add(rows, tile[2]);
    add(rows, tile[3]);
    add(tile[2], tile[3]);
  } else {
    ContractionOpInterface op = *kernel.getBlock().getOps<ContractionOpInterface>().begin();
    int64_t rows = tile[0] / 2 * (tile[1] / 2) * tile[2];
    add(rows, shapeOf(op->getOperand(0)).back());
    add(rows, shapeOf(op->getResult(0)).back());
  }
  return elements * int64_t(sizeof(float));
}
