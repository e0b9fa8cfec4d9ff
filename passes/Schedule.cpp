// Chooses register tile, loop order and units of every kernel from its shape and the level's table.
#include "dialects/exec/Exec.h"
#include "dialects/exec/Level.h"
#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "passes/Passes.h"
#include "passes/entry/ModuleLevel.h"
#include "passes/kernel/BlockWalks.h"
#include "passes/kernel/CostModel.h"
#include "passes/kernel/InPlace.h"
#include "passes/layout/FactorPanels.h"
#include "passes/layout/ProductLanes.h"
#include "passes/layout/ScatterSums.h"
#include "passes/layout/TurnedPanels.h"
#include "passes/schedule/OneOpKernel.h"
#include "passes/schedule/ScheduleBlocks.h"
#include "passes/schedule/Tuning.h"
#include "passes/schedule/WinogradSchedule.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_SCHEDULE
#include "passes/Passes.h.inc"

namespace {

class Scheduler : WinogradSchedule {
public:
  using WinogradSchedule::WinogradSchedule;

  exec::ScheduleAttr run() {
    if (const OneOpKernel *whole = oneOpKernel(kernel))
      return whole->schedule(kernel, lanes, level);
    if (root.getRank() > 0) {
      ContractionOpInterface op = findContraction();
      if (root.getNumElements() == 0) // no unit is computed, and there are no rows to divide
        tile.back() = lanes;
      else if (keepsTransformedFilter())
        filterTransform();
      else if (std::optional<unsigned> filter = transformedFilter(kernel))
        winograd(op, kernel.getLayout(*filter).getWinogradOutputs());
      else if (op && op.getLetters().window)
        convolution(op);
      else if (op)
        product(op);
      else
        loops();
    }
    return withGrain(exec::ScheduleAttr::get(kernel.getContext(), lanes, tile, order, /*grain=*/1,
                                             block, /*panels=*/{}, turned, algorithm, spacing));
  }

private:
  void loops() {
    scheduleLoops();
    if (int64_t units = addUpUpdates()) {
      algorithm = exec::Algorithm::scatter;
      block = {units};
    }
  }

  ContractionOpInterface findContraction() {
    auto contractions = kernel.getBlock().getOps<ContractionOpInterface>();
    return contractions.empty() ? ContractionOpInterface() : *contractions.begin();
  }

  /// Whether tile registers multiply the pairs of 16-bit numbers that the kernel reads.
  bool multipliesByAmx() { return level.amxRows && kernel.readsPairs(); }

  /// Sets the level's register tile, rows by columns. Rows are taken from the leading `rowDims`
  /// until there are enough. All rows of the tile share the rhs' columns. `positions`: the root's
  /// leading dims that are positions in a picture.
  void registerTile(ArrayRef<int64_t> rowDims, int64_t positions = 0) {
    auto rowsAlong = [&](int64_t d) {
      return spacing.empty() ? size(d) : int64_t(llvm::divideCeil(size(d), spacing[d]));
    };
    bool byAmx = multipliesByAmx();
    int64_t n = root.getRank() - 1, rows = 1, tileRows = byAmx ? level.amxRows : level.tileRows;
    for (int64_t d : rowDims)
      rows = std::min(rows * rowsAlong(d), tileRows);
    // With few rows there are registers for more columns; with a single vector of columns, for more
    // rows. AMX's blocks have one size.
    int64_t registers = (tileRows + 1) * level.tileVectors; // accumulators and columns
    int64_t columns = std::max<int64_t>(vectors(size(n)), 1);
    int64_t most = byAmx ? level.tileVectors : registers / (rows + 1);
    columns = llvm::divideCeil(columns, llvm::divideCeil(columns, most));
    // Parts of panels are read more slowly than whole ones. A single tile reads none.
    int64_t panel = level.tileVectors;
    if (int64_t whole = llvm::alignTo(columns, panel);
        columns > panel && columns < vectors(size(n)))
      columns = whole <= most ? whole : whole - panel;
    tile[n] = lanes * columns;
    int64_t wanted = columns == 1 && !byAmx ? 2 * tileRows : tileRows;
    most = std::max((level.vectorRegisters - columns - 1) / columns, wanted);
    rows = 1;
    for (int64_t d : rowDims) {
      if (4 * rows >= 3 * wanted)
        break;
      int64_t several = std::min<int64_t>(llvm::divideCeil(wanted, rows), most / rows);
      if (byAmx)
        several = wanted / rows;
      // The number of pictures varies, so their tiles have a fixed size; positions are divided
      // evenly.
      bool varies = d == rowDims.front() && d >= positions;
      int64_t all = rowsAlong(d);
      tile[d] = varies ? std::clamp<int64_t>(all, 1, several)
                       : llvm::divideCeil(all, llvm::divideCeil(all, several));
      rows *= tile[d];
    }
  }

  /// From this number of column tiles on, each thread may take its own.
  static constexpr int64_t enoughColumnTiles = 4;

  /// Column tiles are the outer loop, so that a panel stays in cache while rows stream by, unless
  /// there are too few column tiles to share among threads, or all panels stay in cache together.
  void contraction(ContractionOpInterface op) {
    int64_t n = root.getRank() - 1, m = n - 1;
    SmallVector<int64_t> rows = rowDims(op);
    // AMX's rows are evenly spaced in the lhs, in full tiles and in others: all take the same
    // instruction, so the bits of a row do not depend on the number of rows.
    ContractionLetters letters = op.getLetters();
    bool isInOrder = StringRef(letters.lhs).starts_with(StringRef(letters.result).drop_back());
    if (multipliesByAmx() && !isInOrder)
      rows.clear();
    if (rows.size() > 1) {
      registerTile(rows);
      if (tiles(n) >= enoughColumnTiles || tiles(n) >= tiles(0))
        std::rotate(order.begin(), order.end() - 1, order.end());
      return;
    }
    registerTile(m < 0 ? SmallVector<int64_t>() : SmallVector<int64_t>{m});
    if (m == 0 && (tiles(n) >= enoughColumnTiles || tiles(n) >= tiles(m)) &&
        !(keepsPanelsInCache(op) && tiles(m) >= exec::manyUnits && !storesCollide(op)))
      std::swap(order[n], order[m]);
  }

  /// Whether the rows of a tile of results lie in the same sets of the first-level cache, and sums
  /// are so short that storing them takes most of the time. Storing such rows along their columns
  /// takes up to four times as long as storing column tiles one after the other (`products`).
  bool storesCollide(ContractionOpInterface op) {
    constexpr int64_t apart = 2048, shortSum = 16; // bytes, terms
    if (kernel.getLayout(kernel.getBlock().getNumArguments()))
      return false; // panels
    int64_t rowBytes = root.getShape().back() * elementBytes(root.getElementType());
    int64_t terms = cast<CostOpInterface>(op.getOperation()).getFlops() / 2; // also of all blocks
    return rowBytes % apart == 0 && terms <= shortSum * root.getNumElements();
  }

  /// Whether the rhs is stored in panels, and all of them fit into part of the cache.
  bool keepsPanelsInCache(ContractionOpInterface op) {
    auto rhs = dyn_cast<BlockArgument>(op->getOperand(1));
    return rhs && kernel.getLayout(rhs.getArgNumber()) && bytesOf(rhs) <= level.cachedBytes() / 4;
  }

  /// The row dims of a plain product's result, innermost first, if all dims but the last are rows.
  SmallVector<int64_t> rowDims(ContractionOpInterface op) {
    ContractionLetters letters = op.getLetters();
    SmallVector<int64_t> dims;
    if (letters.window || op->getResult(0).getType() != root)
      return dims;
    for (int64_t d = root.getRank() - 2; d >= 0 && letters.isRow(letters.result[d]); --d)
      dims.push_back(d);
    return int64_t(dims.size()) == root.getRank() - 1 ? dims : SmallVector<int64_t>();
  }

  /// The dims of a matrix, the longer one first, unless it has too few tiles for the threads.
  SmallVector<int64_t> longerFirst() {
    int64_t first = size(0) > size(1) ? 0 : 1;
    if (tiles(first) < exec::manyUnits && tiles(1 - first) > tiles(first))
      first = 1 - first;
    return {first, 1 - first};
  }

  /// If both operands stride across a long sum, the sum is walked in blocks, which stay in cache.
  /// Units are tiles of the longer dim of the result: those of the shorter dim that a block needs
  /// stay in cache, too.
  void product(ContractionOpInterface op) {
    if (std::optional<int64_t> rows = rowsOfFewColumns(kernel, level))
      return fewColumns(op, *rows);
    if (suitsLaneSums(kernel, level))
      return laneSums(op);
    contraction(op);
    if (walksBlocks(op, *level.kernels)) {
      if (root.getRank() == 2)
        order = longerFirst();
      // With 16-bit factors in pairs, twice as many steps fit in cache.
      block =
          blockOf(summedSizes(op), /*inner=*/1, level.blockSteps * (kernel.readsPairs() ? 2 : 1));
    } else if (turns()) {
      rowsInside(op);
    } else if (tiles(order.front()) == 1) {
      divideUnits();
    }
  }

  /// All rows visit columns, one after the other. Of one matrix, columns are the units; of several,
  /// whatever there is most of.
  void rowsInside(ContractionOpInterface op) {
    ContractionLetters letters = op.getLetters();
    if (letters.rhs.size() == 2)
      return columnsFirst();
    auto *rows = std::stable_partition(
        order.begin(), order.end(), [&](int64_t d) { return !letters.isRow(letters.result[d]); });
    auto *units = std::max_element(order.begin(), rows,
                                   [&](int64_t a, int64_t b) { return tiles(a) < tiles(b); });
    std::rotate(order.begin(), units, std::next(units));
  }

  /// All rows by as many columns as there are registers for sums, but at most as many streams as
  /// the hardware prefetches. Columns are the units.
  void laneSums(ContractionOpInterface op) {
    constexpr int64_t maxColumns = 8;
    ContractionLetters letters = op.getLetters();
    for (auto [d, letter] : llvm::enumerate(letters.result))
      tile[d] = letters.isBatch(letter) ? 1 : size(d);
    tile.back() = std::clamp<int64_t>(maxLaneSums(level) / rowsOfMatrix(op), 1, maxColumns);
    rowsInside(op);
    algorithm = exec::Algorithm::lane_sums;
  }

  /// Vectors run along the rows. A lhs with the sum along its rows goes through registers in
  /// squares, or a single column is summed along the lanes. One across a long sum is read once.
  void fewColumns(ContractionOpInterface op, int64_t rows) {
    int64_t columns = tile.back() = root.getShape().back();
    ContractionLetters letters = op.getLetters();
    bool isAlong = letters.lhs.back() == letters.result[rows];
    int64_t most = std::clamp<int64_t>(level.vectorRegisters / 2 / columns, 1, level.chains);
    tile[rows] = lanes * (isAlong ? std::min(most, vectors(size(rows))) : 1);
    if (walksBlocks(op, *level.kernels))
      block = blockOf(summedSizes(op), /*inner=*/1, columns == 1 ? fewSteps : level.blockSteps);
    else if (tiles(order.front()) == 1)
      divideUnits();
    if (columns == 1 && suitsLaneSumsOfColumn(op, lanes))
      algorithm = exec::Algorithm::lane_sums;
  }

  /// Whether the kernel turns a factor: the part that its column tiles read, once for all rows.
  bool turns() {
    if (auto factor = turnedFactor(kernel, level))
      turned = turnedTiles(kernel, *factor, tile.back(), level);
    return bool(turned);
  }

  void columnsFirst() {
    int64_t n = root.getRank() - 1;
    order.erase(llvm::find(order, n));
    order.insert(order.begin(), n);
  }

  /// The same tile as for products: several pictures, or several positions of few pictures, by
  /// channels. A filter that fits in cache is read for each pixel; otherwise each of its panels
  /// visits all pixels while it is in cache.
  void convolution(ContractionOpInterface op) {
    int64_t rank = root.getRank(), n = rank - 1;
    auto filter = cast<RankedTensorType>(op->getOperand(1).getType());
    bool isBlocked = walksBlocks(op, *level.kernels);
    SmallVector<int64_t> rowDims = isBlocked ? SmallVector<int64_t>() : pictureRows(op);
    if (rank < 3 || rowDims.empty()) {
      contraction(op);
      order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    } else {
      registerTile(rowDims, op.getLetters().windowRank());
      if (llvm::none_of(llvm::zip(tile, spacing),
                        [](auto it) { return std::get<0>(it) > 1 && std::get<1>(it) > 1; }))
        spacing.clear();
    }
    if (rank < 3)
      return;
    if (int64_t outputs = isBlocked ? winogradGradientOutputs(op, level) : 0) {
      winogradGradient(op, outputs);
    } else if (isBlocked) {
      // Rows of the tile are innermost, because they share the rhs' columns. If there are too few
      // column tiles, the row tiles are the units, or the taps of a dim.
      order.insert(order.begin(), order.pop_back_val());
      if (tiles(n) < exec::manyUnits && tiles(n - 1) > tiles(n))
        order.insert(order.begin(), order.pop_back_val());
      else if (tiles(n) == 1)
        divideUnits();
      block = blockOf(op.getLetters().window.getSize(), llvm::product_of(summedSizes(op)),
                      level.blockSteps);
    } else if (turns() || (!spacing.empty() && spacing.front() > 1) ||
               (bytesOf(filter) > level.cachedBytes() && tiles(n) >= enoughColumnTiles)) {
      columnsFirst();
    } else {
      // Columns are the loop directly outside the rows.
      int64_t rows = rowDims.empty() ? n - 1 : rowDims.front();
      order.erase(llvm::find(order, rows));
      order.push_back(rows);
    }
  }

  /// The dims of a convolution's result that the filter lacks: pictures, then positions, innermost
  /// first. Dims without padding come before others: all rows of a tile have the same taps in the
  /// picture there. Neighbouring columns of a depthwise convolution share vectors of the picture,
  /// so they come first. Where neighbouring positions see different taps (base > 1), the rows of a
  /// tile are so far apart, of dims inside the outermost one, that they see the same taps.
  SmallVector<int64_t> pictureRows(ContractionOpInterface op) {
    ContractionLetters letters = op.getLetters();
    SmallVector<int64_t> dims;
    // In 16 bits, the sum is rounded to the root's type.
    if (shapeOf(op->getResult(0)) != root.getShape() || letters.result.empty() ||
        (multipliesByAmx() && op->getResult(0).getType() != root))
      return dims;
    for (char letter : llvm::reverse(StringRef(letters.result).drop_back()))
      if (letters.isRow(letter))
        dims.push_back(letters.dimOf(letters.result, letter));
    if (dims.empty())
      return dims;
    WindowAttr window = letters.window;
    bool isDilated = llvm::any_of(window.getBase(), [](int64_t base) { return base > 1; });
    if (isDilated && !spacesPositions(letters))
      return dims;
    auto isPadded = [&](int64_t d) { return window.getLow()[d] > 0 || window.getHigh()[d] > 0; };
    auto positions = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, window.getRank())));
    llvm::stable_sort(positions, [&](int64_t a, int64_t b) { return isPadded(a) < isPadded(b); });
    llvm::erase_if(positions,
                   [&](int64_t d) { return window.getBase()[d] > 1 && spacing[d] == 1; });
    llvm::append_range(dims, positions);
    if (isDepthwise(letters)) {
      auto *columns = llvm::find(dims, window.getRank() - 1);
      std::rotate(dims.begin(), columns, columns + 1);
    }
    return dims;
  }

  /// Sets the spacing of positions over a dilated picture. False if rows of a tile have to be next
  /// to each other, or taps are dilated, too.
  bool spacesPositions(const ContractionLetters &letters) {
    WindowAttr window = letters.window;
    if (multipliesByAmx() || isDepthwise(letters) ||
        llvm::any_of(window.getDilation(), [](int64_t dilation) { return dilation > 1; }))
      return false;
    // Threads share columns then, which have to be enough.
    bool isFirstInside = window.getRank() == 1 &&
                         vectors(root.getShape().back()) >= enoughColumnTiles * level.tileVectors;
    spacing.assign(root.getRank(), 1);
    for (int64_t d = isFirstInside ? 0 : 1; d < window.getRank(); ++d)
      spacing[d] = window.getBase()[d];
    return true;
  }

  /// Whether nothing is summed but the taps of the window.
  static bool isDepthwise(const ContractionLetters &letters) {
    return llvm::none_of(letters.lhs, [&](char letter) { return letters.isSummed(letter); });
  }

  bool keepsTransformedFilter() {
    exec::PanelAttr layout = kernel.getLayout(kernel.getBlock().getNumArguments());
    return layout && layout.isWinograd();
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

  /// The extents of a block of summed dims with about `steps` steps, long enough to amortize
  /// loading and storing the accumulators. `inner`: steps at each index of these dims.
  SmallVector<int64_t> blockOf(ArrayRef<int64_t> size, int64_t inner, int64_t steps) {
    SmallVector<int64_t> extents(size.size(), 1);
    for (int64_t d = size.size() - 1; d >= 0 && inner < steps; --d) {
      extents[d] = std::min<int64_t>(size[d], llvm::divideCeil(steps, std::max<int64_t>(inner, 1)));
      inner *= extents[d];
    }
    return extents;
  }

  exec::ScheduleAttr withGrain(exec::ScheduleAttr s) {
    int64_t units = 1;
    for (int64_t dim : ArrayRef(order).take_front(order.empty() ? 0 : s.getUnitDims()))
      units *= std::max<int64_t>(1, tiles(dim));
    double repeated = algorithm == exec::Algorithm::scatter ? searchSeconds(kernel, order[0]) : 0;
    return exec::ScheduleAttr::get(s.getContext(), lanes, tile, order,
                                   CostModel(level).grain(kernel, units, repeated), block,
                                   /*panels=*/{}, turned, algorithm, spacing);
  }

  exec::TurnedAttr turned;
  SmallVector<int64_t> spacing; ///< empty: 1 along each dim
};

struct Schedule : impl::ScheduleBase<Schedule> {
  using ScheduleBase::ScheduleBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (tuning.empty())
      return success();
    FailureOr<Tuning> file = Tuning::read(context, tuning);
    if (failed(file))
      return failure();
    measured = std::make_shared<Tuning>(std::move(*file));
    return success();
  }

  void runOnOperation() override {
    const exec::Level *level = levelOrNative(getOperation());
    if (!level)
      return signalPassFailure();
    isTuned = false;
    for (auto kernel : getOperation().getOps<exec::KernelOp>()) {
      if (kernel.getScheduleAttr() || kernel.getParts())
        continue; // keep a given schedule
      if (level->isCuda()) {
        scheduleBlocks(kernel, *level);
        continue;
      }
      kernel.setScheduleAttr(Scheduler(kernel, *level).run());
      kernel.setScheduleAttr(withPanels(kernel, *level));
      countWinogradFlops(kernel);
      if (failed(takeMeasured(kernel, *level)))
        return signalPassFailure();
      kernel.setInplace(findInplace(kernel));
    }
    if (isTuned) {
      auto hash = IntegerAttr::get(IntegerType::get(&getContext(), 64, IntegerType::Unsigned),
                                   llvm::APInt(64, measured->hash()));
      getOperation()->setAttr(tuningAttribute, hash);
    }
  }

private:
  /// Replaces the kernel's schedule by the one in the tuning file, if that has one.
  LogicalResult takeMeasured(exec::KernelOp kernel, const exec::Level &level) {
    if (!measured)
      return success();
    FailureOr<exec::ScheduleAttr> schedule = measured->scheduleOf(kernel, level);
    if (failed(schedule))
      return failure();
    if (*schedule) {
      kernel.setScheduleAttr(*schedule);
      isTuned = true;
    }
    return success();
  }

  std::shared_ptr<const Tuning> measured; ///< shared by the pass's clones
  bool isTuned = false;                   ///< whether a kernel has a schedule of the file
};

} // namespace
} // namespace gradc
