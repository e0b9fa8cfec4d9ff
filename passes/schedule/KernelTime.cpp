// Counts vector instructions: of loops, those that each op takes for a vector; of products, the
// multiply-adds of their register tiles, or the loads if these take longer.
#include "passes/schedule/KernelTime.h"

#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/kernel/Clusters.h"
#include "passes/layout/FactorPanels.h"
#include "passes/layout/ScatterSums.h"
#include "passes/schedule/OneOpKernel.h"

using namespace mlir;
using namespace mlir::grad;

namespace {

class KernelTime {
public:
  KernelTime(exec::KernelOp kernel, const exec::Level &core, double inFlight)
      : kernel(kernel), core(core), inFlight(inFlight), schedule(kernel.getScheduleAttr()),
        lanes(schedule.getLanes()) {}

  double run() {
    if (const gradc::OneOpKernel *whole = gradc::oneOpKernel(kernel))
      return whole->seconds(kernel, core);
    double seconds = turningSeconds();
    for (Operation &op : kernel.getBlock().without_terminator())
      seconds += secondsOf(&op);
    return seconds + updateSeconds();
  }

private:
  /// Elements of whole vectors.
  double padded(RankedTensorType type) {
    if (type.getRank() == 0)
      return double(lanes);
    bool isAcross = hasVectorsOfRows() && type.getShape() == kernel.getRoot().getShape();
    int64_t row = type.getDimSize(isAcross ? vectorDim() : type.getRank() - 1);
    return row == 0
               ? 0
               : double(type.getNumElements()) / double(row) * double(llvm::alignTo(row, lanes));
  }

  /// The root's dim along which vectors run.
  int64_t vectorDim() { return exec::laneDim(schedule.getTile(), lanes); }
  bool hasVectorsOfRows() { return vectorDim() + 1 < kernel.getRoot().getRank(); }

  double loop(double elements) const { return gradc::loopSeconds(elements, core); }

  double secondsOf(Operation *op) {
    if (auto product = dyn_cast<ContractionOpInterface>(op))
      return productSeconds(product);
    switch (gradc::loopKind(op)) {
    case LoopKind::elementwise:
      if (op->getNumOperands() == 0)
        return 0;
      return loop(padded(typeOf(op->getResult(0))) *
                  double(cast<CostOpInterface>(op).getInstructions()));
    case LoopKind::reduction:
      return loop(padded(typeOf(op->getOperand(0))));
    case LoopKind::movement:
      return gradc::movesLanes(op) ? loop(padded(typeOf(op->getResult(0))) * 5) : 0;
    default:
      return 0;
    }
  }

  /// A vector of a factor is loaded, goes through a shuffle per halving of the square, and is
  /// stored; pages are far apart.
  double turningSeconds() {
    constexpr double instructions = 12;
    if (!schedule || !schedule.getTurned())
      return 0;
    Value operand = kernel.getBlock().getArgument(schedule.getTurned().getOperand());
    return loop(instructions * padded(typeOf(operand)));
  }

  /// A vector of an update is loaded and added to one of a target that its index has to name first.
  double updateSeconds() {
    constexpr double instructions = 14;
    double seconds = 0;
    for (RankedTensorType updates : gradc::summedUpdates(kernel))
      seconds += loop(instructions * padded(updates));
    return seconds;
  }

  double productSeconds(ContractionOpInterface op) {
    double flops = double(cast<CostOpInterface>(op.getOperation()).getFlops());
    RankedTensorType result = typeOf(op->getResult(0));
    if (int64_t m = schedule.getWinogradOutputs()) { // a gradient adds the sums of blocks to memory
      bool isGradient = !schedule.getBlock().empty();
      double share = m == 4 ? (isGradient ? 0.55 : 0.6) : (isGradient ? 0.6 : 0.71);
      return flops * double(exec::winogradSlots(m)) / double(9 * m * m) / (core.f32Flops * share);
    }
    Type factor = getElementTypeOrSelf(op->getOperand(0).getType());
    double rate = factor.isBF16()       ? core.bf16Flops
                  : factor.isInteger(8) ? core.int8Flops
                                        : gradc::peakFlops(lanes, core);
    if (hasVectorsOfRows())
      flops *= shuffles(op);
    if (result.getRank() > 0 && result.getShape().back() > 0)
      flops *= padded(result) / double(result.getNumElements());
    return flops / (rate * streamShare(op) * tileShare(op));
  }

  /// For vectors along the rows, the instructions per multiply-add: a lhs with the sum along its
  /// rows goes through registers in squares.
  double shuffles(ContractionOpInterface op) {
    constexpr double perVector = 5; // of the lhs
    if (schedule.hasLaneSums())
      return 1;
    ContractionLetters letters = op.getLetters();
    double columns = double(kernel.getRoot().getShape().back());
    return 1 + (letters.isSummed(letters.lhs.back()) ? perVector / columns : 0);
  }

  /// Relative to two units. At the same peak, one unit takes twice the cycles, in which a core does
  /// more beside multiply-adds.
  double units() const { return inFlight / 8; }

  /// The part of the peak that a product with a full tile reaches.
  double streamShare(ContractionOpInterface op) {
    bool isWindow = bool(op.getLetters().window);
    double others =
        schedule.getBlock().empty() ? (isWindow ? 0.15 : 0.06) : (isWindow ? 0.35 : 0.25);
    return 1 / (1 + others * units());
  }

  /// The part of a tile's cycles in which it multiplies: a tile loads its columns and one number,
  /// or vector, for each row.
  double tileShare(ContractionOpInterface op) {
    ArrayRef<int64_t> tile = schedule.getTile(), shape = kernel.getRoot().getShape();
    if (tile.empty())
      return 0.1;
    int64_t columns = 1, rows = 1; // of accumulators
    for (auto [dim, size, step] : llvm::enumerate(shape, tile)) {
      int64_t extent = std::min(size, step);
      if (int64_t(dim) == vectorDim())
        columns =
            std::max<int64_t>(llvm::divideCeil(extent, schedule.hasLaneSums() ? 1 : lanes), 1);
      else
        rows *= extent;
    }
    ContractionLetters letters = op.getLetters();
    bool sums = llvm::any_of(letters.lhs, [&](char letter) { return letters.isSummed(letter); });
    double products = double(rows * columns);
    double loads = sums ? double(rows) * units() + double(columns)
                        : double(rows * columns) * 0.5 + double(columns);
    return std::min(1.0, products / std::max({products, loads, inFlight}));
  }

  exec::KernelOp kernel;
  const exec::Level &core;
  double inFlight;
  exec::ScheduleAttr schedule;
  int64_t lanes;
};

} // namespace

// Two vector instructions per cycle, of which loops reach a part.
double gradc::loopSeconds(double elements, const exec::Level &core) {
  constexpr double reached = 0.87;
  return elements / (core.f32Flops / 2 * reached);
}

double gradc::peakFlops(int64_t lanes, const exec::Level &core) {
  return core.f32Flops * double(4 * lanes) / double(core.vectorBytes);
}

double gradc::computingSeconds(exec::KernelOp kernel, const exec::Level &core, double inFlight) {
  return KernelTime(kernel, core, inFlight).run();
}

bool gradc::streamsWeights(exec::KernelOp kernel) {
  constexpr int64_t fewRows = 64;
  auto product = dyn_cast_or_null<ContractionOpInterface>(productOf(kernel));
  if (!product || product.getLetters().window)
    return false;
  RankedTensorType root = kernel.getRoot(); // has no dim of blocks that the kernel adds up
  return root.getRank() > 0 && root.getNumElements() <= fewRows * root.getShape().back();
}
