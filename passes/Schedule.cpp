// Chooses register tile, loop order and units of every kernel from its shape and the level's table.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/support/AttentionKernel.h"
#include "passes/support/Clusters.h"
#include "passes/support/CostModel.h"
#include "passes/support/ModuleLevel.h"
#include "passes/support/ScheduleBlocks.h"
#include "passes/support/Winograd.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_SCHEDULE
#include "passes/Passes.h.inc"

namespace {

constexpr int64_t manyUnits = 8; // enough for the threads of a small machine

class Scheduler {
public:
  Scheduler(exec::KernelOp kernel, const exec::Level &level)
      : kernel(kernel), level(level), root(kernel.getRoot()) {}

  exec::ScheduleAttr run() {
    int64_t rank = root.getRank();
    lanes = level.vectorBytes / widestElement(kernel);
    if (findAttention(kernel))
      return scheduleAttention(kernel, lanes, level);
    tile.assign(rank, 1);
    order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    if (rank > 0) {
      ContractionOpInterface op = findContraction();
      if (keepsTransformedFilter())
        filterTransform();
      else if (readsTransformedFilter())
        winograd(op);
      else if (op && op.getLetters().window)
        convolution(op);
      else if (op)
        product(op);
      else
        loops();
    }
    return exec::ScheduleAttr::get(kernel.getContext(), lanes, tile, order, grain(), block,
                                   algorithm);
  }

private:
  int64_t size(int64_t d) const { return root.getDimSize(d); }
  int64_t vectors(int64_t elements) const { return llvm::divideCeil(elements, lanes); }
  int64_t tiles(int64_t d) const { return llvm::divideCeil(size(d), tile[d]); }

  ContractionOpInterface findContraction() {
    auto contractions = kernel.getBlock().getOps<ContractionOpInterface>();
    return contractions.empty() ? ContractionOpInterface() : *contractions.begin();
  }
  static ArrayRef<int64_t> shapeOf(Value v) {
    return cast<RankedTensorType>(v.getType()).getShape();
  }

  /// The register tile of the level: as many rows as it has, from the first of `rowDims` that have
  /// them, by columns. The rows share the rhs' columns.
  void registerTile(ArrayRef<int64_t> rowDims) {
    int64_t n = root.getRank() - 1, rows = 1;
    for (int64_t d : rowDims)
      rows = std::min(rows * size(d), level.tileRows);
    // Few rows leave registers for more columns, a single vector of columns for more rows.
    int64_t registers = (level.tileRows + 1) * level.tileVectors; // accumulators and columns
    int64_t columns = std::max<int64_t>(vectors(size(n)), 1);
    columns = llvm::divideCeil(columns, llvm::divideCeil(columns, registers / (rows + 1)));
    tile[n] = lanes * columns;
    int64_t wanted = columns == 1 ? 2 * level.tileRows : level.tileRows;
    int64_t most = std::max((level.vectorRegisters - columns - 1) / columns, wanted);
    rows = 1;
    for (int64_t d : rowDims) {
      if (4 * rows >= 3 * wanted)
        break;
      int64_t several = std::min<int64_t>(llvm::divideCeil(wanted, rows), most / rows);
      // Pictures come in any number; of positions all tiles have the same, or one less.
      bool isFirst = d == rowDims.front();
      tile[d] = isFirst ? std::clamp<int64_t>(size(d), 1, several)
                        : llvm::divideCeil(size(d), llvm::divideCeil(size(d), several));
      rows *= tile[d];
    }
  }

  /// Column tiles outside, so that a panel stays in cache while rows stream by, unless there are
  /// too few of them to share.
  void contraction(ContractionOpInterface op) {
    int64_t n = root.getRank() - 1, m = n - 1;
    if (SmallVector<int64_t> rows = rowDims(op); rows.size() > 1) {
      registerTile(rows);
      if (tiles(n) >= 4 || tiles(n) >= tiles(0))
        std::rotate(order.begin(), order.end() - 1, order.end());
      return;
    }
    registerTile(m < 0 ? SmallVector<int64_t>() : SmallVector<int64_t>{m});
    if (m == 0 && (tiles(n) >= 4 || tiles(n) >= tiles(m)))
      std::swap(order[n], order[m]);
  }

  /// The dims of a plain product's result, from the innermost, if all but the last are rows.
  SmallVector<int64_t> rowDims(ContractionOpInterface op) {
    ContractionLetters letters = op.getLetters();
    SmallVector<int64_t> dims;
    if (letters.window || op->getResult(0).getType() != root)
      return dims;
    for (int64_t d = root.getRank() - 2; d >= 0 && letters.isRow(letters.result[d]); --d)
      dims.push_back(d);
    return int64_t(dims.size()) == root.getRank() - 1 ? dims : SmallVector<int64_t>();
  }

  /// Where both operands run across a long sum, it is walked in blocks, which stay in a cache.
  void product(ContractionOpInterface op) {
    contraction(op);
    if (walksBlocks(op, *level.kernels)) {
      // Of 16-bit factors in pairs twice as many steps stay in a cache.
      bool arePairs = llvm::any_of(llvm::seq(kernel.getBlock().getNumArguments()), [&](unsigned i) {
        exec::PanelAttr layout = kernel.getLayout(i);
        return layout && layout.isOfPairs();
      });
      block = blockOf(summedSizes(op), /*inner=*/1, level.blockSteps * (arePairs ? 2 : 1));
    } else if (tiles(order.front()) == 1) {
      divideUnits();
    }
  }

  /// The same tile: several pictures, or several positions of few pictures, by channels. A filter
  /// whose panels fit in a cache is walked pixel by pixel; otherwise each panel meets all pixels
  /// while it is there.
  void convolution(ContractionOpInterface op) {
    int64_t rank = root.getRank(), n = rank - 1;
    auto filter = cast<RankedTensorType>(op->getOperand(1).getType());
    bool isBlocked = walksBlocks(op, *level.kernels);
    SmallVector<int64_t> rowDims = isBlocked ? SmallVector<int64_t>() : pictureRows(op);
    if (rank < 3 || rowDims.empty()) {
      contraction(op);
      order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    } else {
      registerTile(rowDims);
    }
    if (rank < 3)
      return;
    if (isBlocked && suitsWinogradGradient(op, level)) {
      winogradGradient(op);
    } else if (isBlocked) {
      // Rows of the tile go innermost: they share the rhs' columns. Few column tiles are too few
      // units: then these are the rows' tiles.
      order.insert(order.begin(), order.pop_back_val());
      if (tiles(n) < manyUnits && tiles(n - 1) > tiles(n))
        order.insert(order.begin(), order.pop_back_val());
      block = blockOf(op.getLetters().window.getSize(), llvm::product_of(summedSizes(op)),
                      level.blockSteps);
    } else if (exec::layoutBytes(filter, nullptr) > level.cachedBytes() && tiles(n) >= 4) {
      order.insert(order.begin(), order.pop_back_val());
    } else {
      // Columns just outside the rows.
      int64_t rows = rowDims.empty() ? n - 1 : rowDims.front();
      order.erase(llvm::find(order, rows));
      order.push_back(rows);
    }
  }

  /// The dims of a convolution's result that the filter does not have: pictures, then positions
  /// from the innermost, unless neighbours have other taps. None where the result's leading dims
  /// are not those that the window slides over.
  SmallVector<int64_t> pictureRows(ContractionOpInterface op) {
    ContractionLetters letters = op.getLetters();
    SmallVector<int64_t> dims;
    if (op->getResult(0).getType() != root || letters.result.empty())
      return dims;
    for (char letter : llvm::reverse(StringRef(letters.result).drop_back()))
      if (letters.isRow(letter))
        dims.push_back(letters.dimOf(letters.result, letter));
    if (dims.empty())
      return dims;
    if (llvm::all_of(letters.window.getBase(), [](int64_t base) { return base == 1; }))
      for (int64_t d = letters.windowRank() - 1; d >= 0; --d)
        dims.push_back(d);
    return dims;
  }

  bool keepsTransformedFilter() {
    exec::PanelAttr layout = kernel.getLayout(kernel.getBlock().getNumArguments());
    return layout && layout.isWinograd();
  }
  bool readsTransformedFilter() {
    return llvm::any_of(llvm::seq(kernel.getBlock().getNumArguments()), [&](unsigned i) {
      exec::PanelAttr layout = kernel.getLayout(i);
      return layout && layout.isWinograd();
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

  /// As many windows at once as stay, transformed, in the second-level cache: pictures, and columns
  /// of windows where the batch is small.
  std::pair<int64_t, int64_t> windowsTogether(int64_t channels, int64_t batch, int64_t columns) {
    int64_t window = winogradSlots * channels * 4; // bytes
    int64_t windows = std::max(level.cachedBytes() / window, level.tileRows);
    int64_t pictures = largestDivisor(batch, windows);
    return {pictures, largestDivisor(columns, std::max<int64_t>(windows / pictures, 1))};
  }

  void winograd(ContractionOpInterface op) {
    int64_t channels = shapeOf(op->getOperand(0)).back() + root.getShape().back();
    auto [pictures, columns] = windowsTogether(channels, size(2), size(1) / 2);
    tile = {2, 2 * columns, pictures, lanes * level.tileVectors};
    algorithm = exec::Algorithm::winograd;
  }

  /// Some input channels a unit, some filters at a time: their sums stay in a quarter of the cache
  /// while all windows go by.
  void winogradGradient(ContractionOpInterface op) {
    constexpr int64_t channels = winogradGradientChannels;
    int64_t filters = level.cachedBytes() / 4 / (winogradSlots * channels * 4);
    int64_t panel = lanes * level.tileVectors;
    ArrayRef<int64_t> gradient = shapeOf(op->getOperand(1));
    tile = {3, 3, channels, panel * largestDivisor(size(3) / panel, filters / panel)};
    order = {2, 3, 0, 1};
    auto [pictures, columns] = windowsTogether(channels + tile[3], gradient[2], gradient[1] / 2);
    block = {2, 2 * columns, pictures};
    algorithm = exec::Algorithm::winograd;
  }

  /// The sizes of the summed letters, in the order of the rhs.
  static SmallVector<int64_t> summedSizes(ContractionOpInterface op) {
    ContractionLetters letters = op.getLetters();
    SmallVector<int64_t> sizes;
    for (auto [letter, n] :
         llvm::zip(letters.rhs, shapeOf(op->getOperand(1)).drop_front(letters.windowRank())))
      if (letters.isSummed(letter))
        sizes.push_back(n);
    return sizes;
  }

  /// Steps of summed dims that make a sum of some length, so that loading and storing the
  /// accumulators is rare. `inner`: steps at each place of these dims; `steps`: of a block.
  SmallVector<int64_t> blockOf(ArrayRef<int64_t> size, int64_t inner, int64_t steps) {
    SmallVector<int64_t> extents(size.size(), 1);
    for (int64_t d = size.size() - 1; d >= 0 && inner < steps; --d) {
      extents[d] = std::min<int64_t>(size[d], llvm::divideCeil(steps, std::max<int64_t>(inner, 1)));
      inner *= extents[d];
    }
    return extents;
  }

  /// The panels of pairs that the root is stored in; null: it is not.
  exec::PanelAttr pairsOf() {
    exec::PanelAttr layout = kernel.getLayout(kernel.getBlock().getNumArguments());
    return kernel.getYielded().size() == 1 && layout && layout.isOfPairs() ? layout : nullptr;
  }

  /// Both rows of a pair, a few panels at a time: what is read are whole lines, and what is written
  /// are few streams. What is transposed on the way goes through registers in squares: of numbers,
  /// or of pairs where these run along the lanes.
  void pairs(exec::PanelAttr panel) {
    int64_t last = root.getRank() - 1;
    if (panel.getPaired() == last) {
      tile[last] = 2 * lanes;
      tile[panel.getDim()] = lanes;
    } else if (isTransposed()) {
      tile[last] = tile[panel.getPaired()] = lanes;
    } else {
      tile[last] = lanes * std::min(level.chains, vectors(size(last)));
      tile[panel.getPaired()] = 2;
    }
    order.erase(llvm::find(order, panel.getDim()));
    order.insert(order.begin(), panel.getDim());
  }

  /// The panels that everything as large as the root is stored in; null: some of it is stored
  /// otherwise, or the kernel does not compute element by element.
  exec::PanelAttr commonPanels() {
    unsigned operands = kernel.getBlock().getNumArguments();
    exec::PanelAttr common = kernel.getLayout(operands);
    auto isAlike = [&](Value v, unsigned i) {
      return shapeOf(v).empty() || (shapeOf(v) == root.getShape() && kernel.getLayout(i) == common);
    };
    for (BlockArgument argument : kernel.getBlock().getArguments())
      if (!isAlike(argument, argument.getArgNumber()))
        return nullptr;
    for (auto [i, v] : llvm::enumerate(kernel.getYielded()))
      if (!isAlike(v, operands + unsigned(i)))
        return nullptr;
    return hasReduction() || isTransposed() ? nullptr : common;
  }

  /// From end to end, a panel a unit: also what a rank owns is whole panels.
  void panels(exec::PanelAttr panel) {
    int64_t last = root.getRank() - 1, dim = panel.getDim();
    tile[last] = lanes;
    tile[dim] = panel.getWidth();
    if (last > 0 && dim == last)
      tile[last - 1] = std::clamp<int64_t>(level.chains * lanes / tile[last], 1, size(last - 1));
    order.erase(llvm::find(order, dim));
    order.insert(order.begin(), dim);
  }

  void loops() {
    int64_t last = root.getRank() - 1;
    int64_t rowTile = vectors(size(last));
    if (exec::PanelAttr panel = pairsOf())
      return pairs(panel);
    if (exec::PanelAttr panel = commonPanels())
      return panels(panel);
    bool wholeRow = hasReduction() && rowTile <= level.rowVectors;
    tile[last] = lanes * std::max<int64_t>(1, wholeRow ? rowTile : std::min(level.chains, rowTile));
    // Short rows leave registers for several at once, which hides the latency of their reductions.
    if (wholeRow && rowTile * level.chains <= level.rowVectors && last > 0)
      tile[last - 1] = std::clamp<int64_t>(size(last - 1), 1, level.chains);
    // Moves against the lanes go through registers, a square of them at a time.
    if (isTransposed() && last > 0) {
      tile[last] = lanes;
      tile[last - 1] = std::clamp<int64_t>(size(last - 1), 1, lanes);
    }
    if (tiles(order.front()) < manyUnits)
      divideUnits();
  }

  /// Threads share the tiles of the outermost dim. Where these are few, the first dim that has
  /// enough goes outermost, or that with most. Lanes stay innermost.
  void divideUnits() {
    SmallVector<int64_t> before = order;
    auto enough = [&](int64_t d) { return std::min(tiles(d), manyUnits); };
    auto *most = std::max_element(order.begin(), order.end() - 1,
                                  [&](int64_t a, int64_t b) { return enough(a) < enough(b); });
    std::rotate(order.begin(), most, most + 1);
    if (!llvm::all_of(kernel.getYielded(), [&](Value v) { return isPrefix(shapeOf(v)); }))
      order = before;
  }

  /// Whether a result's dims are those of the outermost loops, as the one walk over them wants it.
  bool isPrefix(ArrayRef<int64_t> shape) {
    auto has = [&](int64_t d) { return d < int64_t(shape.size()) && shape[d] == size(d); };
    return std::is_partitioned(order.begin(), order.end(), has);
  }

  bool hasReduction() {
    return llvm::any_of(kernel.getBlock(),
                        [](Operation &op) { return loopKind(&op) == LoopKind::reduction; });
  }

  /// Whether lanes, which run along a result's last dim, read an operand along another of its dims.
  bool isTransposed() {
    return llvm::any_of(kernel.getBlock().getOps<MovementOpInterface>(), [](auto movement) {
      SmallVector<int64_t> dims = movement.getResultDims();
      int64_t last = shapeOf(movement->getResult(0)).size() - 1;
      return !dims.empty() && llvm::is_contained(ArrayRef(dims).drop_back(), last);
    });
  }

  int64_t grain() {
    int64_t units = order.empty() ? 1 : std::max<int64_t>(1, tiles(order[0]));
    return CostModel(level).grain(kernel, units);
  }

  exec::KernelOp kernel;
  const exec::Level &level;
  RankedTensorType root;
  int64_t lanes = 1;
  SmallVector<int64_t> tile, order, block;
  exec::Algorithm algorithm = exec::Algorithm::direct;
};

struct Schedule : impl::ScheduleBase<Schedule> {
  void runOnOperation() override {
    const exec::Level *level = levelOrNative(getOperation());
    if (!level)
      return signalPassFailure();
    for (auto kernel : getOperation().getOps<exec::KernelOp>())
      if (kernel.getScheduleAttr() || kernel.getParts())
        continue; // as it was given
      else if (level->isCuda())
        scheduleBlocks(kernel, *level);
      else
        kernel.setScheduleAttr(Scheduler(kernel, *level).run());
  }
};

} // namespace
} // namespace gradc
