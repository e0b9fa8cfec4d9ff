// Chooses register tile, loop order and units of every kernel from its shape and the level's table.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/support/Clusters.h"
#include "passes/support/ModuleLevel.h"
#include "passes/support/ScheduleBlocks.h"
#include "passes/support/Winograd.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_SCHEDULE
#include "passes/Passes.h.inc"

namespace {

/// A piece of work below this many nanoseconds is not worth another thread: the barrier costs
/// 200-300, and cache lines that the other core has just written as much again.
constexpr double minimumPieceNs = 2500;

/// Vectors of a pointwise tile: enough independent work to hide latency.
constexpr int64_t pointwiseVectors = 4;
/// Rows up to this many vectors stay in registers.
constexpr int64_t rowVectors = 8;
/// Rows up to this many vectors are computed so many at a time.
constexpr int64_t shortRowVectors = 2, shortRows = 4;

class Scheduler {
public:
  Scheduler(exec::KernelOp kernel, const exec::Level &level)
      : kernel(kernel), level(level), root(kernel.getRoot()) {}

  exec::ScheduleAttr run() {
    int64_t rank = root.getRank();
    lanes = level.vectorBytes / widestElement(kernel);
    tile.assign(rank, 1);
    order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    if (rank > 0) {
      Operation *op = find(LoopKind::contraction);
      if (keepsTransformedFilter())
        filterTransform();
      else if (readsTransformedFilter())
        winograd(cast<ConvolutionOp>(op));
      else if (auto windows = dyn_cast_or_null<ConvolutionOp>(op))
        convolution(windows);
      else if (op)
        contraction(op);
      else
        loops();
    }
    return exec::ScheduleAttr::get(kernel.getContext(), lanes, tile, order, grain(), block,
                                   isWinograd);
  }

private:
  int64_t size(int64_t d) const { return root.getDimSize(d); }
  int64_t vectors(int64_t elements) const { return llvm::divideCeil(elements, lanes); }
  int64_t tiles(int64_t d) const { return llvm::divideCeil(size(d), tile[d]); }

  Operation *find(LoopKind kind) {
    for (Operation &op : kernel.getBlock())
      if (loopKind(&op) == kind)
        return &op;
    return nullptr;
  }

  /// The register tile of the level; column tiles outside, so that a panel stays in cache while
  /// rows stream by, unless there are too few of them to share.
  void contraction(Operation *op) {
    int64_t n = root.getRank() - 1, m = n - 1;
    // Few rows leave registers for more columns, a single vector of columns for more rows.
    int64_t registers = (level.tileRows + 1) * level.tileVectors; // accumulators and columns
    int64_t rows = m < 0 ? 1 : std::clamp<int64_t>(size(m), 1, level.tileRows);
    int64_t columns = std::max<int64_t>(vectors(size(n)), 1);
    columns = llvm::divideCeil(columns, llvm::divideCeil(columns, registers / (rows + 1)));
    tile[n] = lanes * columns;
    if (m < 0)
      return;
    if (tile[n] == lanes)
      rows = 2 * level.tileRows;
    tile[m] = std::clamp<int64_t>(size(m), 1, rows);
    if (m == 0 && (tiles(n) >= 4 || tiles(n) >= tiles(m)))
      std::swap(order[n], order[m]);
  }

  /// The same tile: pixels of several pictures by channels. A filter whose panels fit in a cache is
  /// walked pixel by pixel; otherwise each panel meets all pixels while it is there. Names the op
  /// because its positions are no rows.
  void convolution(ConvolutionOp op) {
    constexpr int64_t cachedFilter = 256 << 10; // bytes
    contraction(op);
    int64_t rank = root.getRank(), n = rank - 1;
    order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    if (rank < 3)
      return;
    auto filter = cast<RankedTensorType>(op.getRhs().getType());
    if (walksBlocks(op) && suitsWinogradGradient(op, level)) {
      winogradGradient(op);
    } else if (walksBlocks(op)) {
      // Rows of the tile go innermost: they share the rhs' columns.
      order.insert(order.begin(), order.pop_back_val());
      block = blockOf(op);
    } else if (exec::layoutBytes(filter, nullptr) > cachedFilter && tiles(n) >= 4) {
      order.insert(order.begin(), order.pop_back_val());
    } else {
      // Columns just outside the rows.
      std::swap(order[n], order[n - 1]);
    }
  }

  bool keepsTransformedFilter() {
    exec::PanelAttr layout = kernel.getLayout(kernel.getBlock().getNumArguments());
    return layout && layout.getWinograd();
  }
  bool readsTransformedFilter() {
    return llvm::any_of(llvm::seq(kernel.getBlock().getNumArguments()), [&](unsigned i) {
      exec::PanelAttr layout = kernel.getLayout(i);
      return layout && layout.getWinograd();
    });
  }

  /// Every filter's nine taps at once, a panel of filters a unit.
  void filterTransform() {
    tile = {3, 3, lanes, lanes * level.tileVectors};
    order = {3, 2, 0, 1};
  }

  static int64_t largestDivisor(int64_t n, int64_t limit) {
    int64_t divisor = std::min(n, limit);
    while (n % divisor != 0)
      --divisor;
    return divisor;
  }

  /// As many windows at once as fit, transformed, in half of a small second-level cache: pictures,
  /// and columns of windows where the batch is small.
  std::pair<int64_t, int64_t> windowsTogether(int64_t channels, int64_t batch, int64_t columns) {
    constexpr int64_t cachedBytes = 256 << 10, slots = 16;
    int64_t windows = std::max<int64_t>(cachedBytes / (slots * channels * 4), level.tileRows);
    int64_t pictures = largestDivisor(batch, windows);
    return {pictures, largestDivisor(columns, std::max<int64_t>(windows / pictures, 1))};
  }

  void winograd(ConvolutionOp op) {
    int64_t channels = op.getLhs().getType().getShape().back() + root.getShape().back();
    auto [pictures, columns] = windowsTogether(channels, size(2), size(1) / 2);
    tile = {2, 2 * columns, pictures, lanes * level.tileVectors};
    isWinograd = true;
  }

  /// Some input channels a unit, some filters at a time: their sums, of 16 numbers each, stay in
  /// cache while all windows go by.
  void winogradGradient(ConvolutionOp op) {
    constexpr int64_t channels = 16, filters = 64;
    int64_t panel = lanes * level.tileVectors;
    ArrayRef<int64_t> gradient = op.getRhs().getType().getShape();
    tile = {3, 3, channels, panel * largestDivisor(size(3) / panel, filters / panel)};
    order = {2, 3, 0, 1};
    auto [pictures, columns] = windowsTogether(channels + tile[3], gradient[2], gradient[1] / 2);
    block = {2, 2 * columns, pictures};
    isWinograd = true;
  }

  /// Positions that make a sum of some length, so that loading and storing the accumulators is
  /// rare.
  SmallVector<int64_t> blockOf(ConvolutionOp op) {
    constexpr int64_t steps = 128;
    ArrayRef<int64_t> size = op.getWindow().getSize();
    auto [lhs, rhs, result] = op.getLetters();
    int64_t inner = 1; // steps at one position
    for (auto [letter, n] :
         llvm::zip(lhs, op.getLhs().getType().getShape().drop_front(size.size())))
      if (!result.contains(letter))
        inner *= n;
    SmallVector<int64_t> extents(size.size(), 1);
    for (int64_t d = size.size() - 1; d >= 0 && inner < steps; --d) {
      extents[d] = std::min<int64_t>(size[d], llvm::divideCeil(steps, std::max<int64_t>(inner, 1)));
      inner *= extents[d];
    }
    return extents;
  }

  void loops() {
    int64_t last = root.getRank() - 1;
    int64_t rowTile = vectors(size(last));
    bool wholeRow = find(LoopKind::reduction) && rowTile <= rowVectors;
    tile[last] =
        lanes * std::max<int64_t>(1, wholeRow ? rowTile : std::min(pointwiseVectors, rowTile));
    // Short rows leave registers for several at once, which hides the latency of their reductions.
    if (wholeRow && rowTile <= shortRowVectors && last > 0)
      tile[last - 1] = std::clamp<int64_t>(size(last - 1), 1, shortRows);
    // Moves against the lanes go through registers, a square of them at a time.
    if (isTransposed() && last > 0) {
      tile[last] = lanes;
      tile[last - 1] = std::clamp<int64_t>(size(last - 1), 1, lanes);
    }
  }

  bool isTransposed() {
    for (Operation &op : kernel.getBlock())
      if (auto permutation = op.getAttrOfType<DenseI64ArrayAttr>("permutation"))
        if (!permutation.empty() && permutation.asArrayRef().back() != permutation.size() - 1)
          return true;
    return false;
  }

  /// Units that make a piece worth a thread, from the kernel's flops and bytes.
  int64_t grain() {
    int64_t units = order.empty() ? 1 : std::max<int64_t>(1, tiles(order[0]));
    double flops = kernel.getFlops().value_or(0), bytes = kernel.getBytes().value_or(0);
    // Contractions run near 100 flops a nanosecond, other loops near 10; caches give 30 bytes.
    double ns = flops / (find(LoopKind::contraction) ? 100 : 10) + bytes / 30;
    return std::clamp<int64_t>(int64_t(minimumPieceNs * units / std::max(ns, 1.0)), 1, units);
  }

  exec::KernelOp kernel;
  const exec::Level &level;
  RankedTensorType root;
  int64_t lanes = 1;
  SmallVector<int64_t> tile, order, block;
  bool isWinograd = false;
};

struct Schedule : impl::ScheduleBase<Schedule> {
  void runOnOperation() override {
    const exec::Level *level = levelOrNative(getOperation());
    if (!level)
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<exec::KernelOp>())
      if (level->isCuda())
        scheduleBlocks(kernel, *level);
      else
        kernel.setScheduleAttr(Scheduler(kernel, *level).run());
  }
};

} // namespace
} // namespace gradc
