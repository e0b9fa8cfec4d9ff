// Varies one or two parts of the schedule at a time.
#include "passes/schedule/ScheduleCandidates.h"

#include "dialects/grad/Grad.h"
#include "passes/kernel/CostModel.h"
#include "passes/layout/FactorPanels.h"
#include "passes/layout/ScatterSums.h"
#include "passes/layout/TurnedPanels.h"
#include "passes/schedule/AttentionKernel.h"
#include "passes/schedule/LoopSchedule.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gradc;
using grad::AttentionSizes;
using grad::storedDim;
using Dims = SmallVector<int64_t>;

namespace {

class Candidates : LoopSchedule {
public:
  Candidates(exec::KernelOp kernel, const exec::Level &level)
      : LoopSchedule(kernel, level), standard(kernel.getScheduleAttr()) {
    lanes = standard.getLanes();
    tile = Dims(standard.getTile());
    order = Dims(standard.getOrder());
  }

  SmallVector<exec::ScheduleAttr> list() {
    exec::PanelAttr stored = kernel.getLayout(kernel.getBlock().getNumArguments());
    bool isAttention = standard.getAlgorithm() == exec::Algorithm::attention;
    if (tile.empty() || (standard.isOfOneOp() && !isAttention) || standard.hasLaneSums() ||
        standard.getScatterUnits() || (stored && stored.isWinograd())) // transforms whole filters
      return {};
    if (isAttention)
      varyAttention();
    else if (standard.isWinograd())
      varyWinograd();
    else if (productOf(kernel))
      varyProduct();
    else
      varyLoops();
    found.remove(standard);
    return found.takeVector();
  }

private:
  int64_t last() const { return int64_t(tile.size()) - 1; }

  int64_t unitsOf(const Dims &tile, const Dims &order) const {
    int64_t units = 1;
    for (int64_t d : ArrayRef(order).take_front(standard.getUnitDims()))
      units *= llvm::divideCeil(size(d), tile[d]);
    return std::max<int64_t>(units, 1);
  }

  void add(const Dims &tile, const Dims &order, const Dims &block, const Dims &panels) {
    int64_t units = unitsOf(tile, order);
    auto keepsOrder = [&](Value v) {
      return isPrefix(order, cast<RankedTensorType>(v.getType()).getShape());
    };
    if (standard.spacingOf(order.front()) > 1 ||
        units < std::min(unitsOf(this->tile, this->order), exec::manyUnits) ||
        (order != this->order && !llvm::all_of(kernel.getYielded(), keepsOrder)))
      return;
    double repeated = standard.getScatterUnits() ? searchSeconds(kernel, order.front()) : 0;
    int64_t grain = CostModel(level).grain(kernel, units, repeated);
    if (llvm::any_of(panels, [](int64_t n) { return n > 0; }))
      grain = std::max(grain, standard.getGrain());
    found.insert(exec::ScheduleAttr::get(kernel.getContext(), lanes, tile, order, grain, block,
                                         panels, turned(tile, order), standard.getAlgorithm(),
                                         standard.getSpacing()));
  }
  /// Loops that come back to a turned part read the factor in place.
  exec::TurnedAttr turned(const Dims &tile, const Dims &order) {
    auto factor = standard.getTurned() ? turnedFactor(kernel, level) : std::nullopt;
    return factor && suitsTurning(kernel, *factor, tile, order)
               ? turnedTiles(kernel, *factor, tile.back(), level)
               : exec::TurnedAttr();
  }
  void addTile(const Dims &tile) { add(tile, order, block(), panels()); }
  void addBlock(const Dims &block) { add(tile, order, block, panels()); }

  Dims block() const { return Dims(standard.getBlock()); }
  Dims panels() const { return Dims(standard.getPanels()); }

  /// All orders of few dims, else those with two dims exchanged.
  SmallVector<Dims> orders() const {
    SmallVector<Dims> all{order};
    if (order.size() <= 4) {
      Dims next(order);
      llvm::sort(next);
      do
        all.push_back(next);
      while (std::next_permutation(next.begin(), next.end()));
      return all;
    }
    for (size_t a = 0; a < order.size(); ++a)
      for (size_t b = a + 1; b < order.size(); ++b) {
        all.push_back(order);
        std::swap(all.back()[a], all.back()[b]);
      }
    return all;
  }

  /// Blocks with one extent halved, by half longer, or doubled, in multiples of `step`.
  void varyBlock(ArrayRef<int64_t> steps, ArrayRef<int64_t> sizes) {
    for (size_t d = 0; d < steps.size(); ++d)
      for (double factor : {0.25, 0.5, 1.5, 2.0, 4.0}) {
        Dims other = block();
        int64_t extent = llvm::alignTo(int64_t(double(other[d]) * factor), steps[d]);
        other[d] = std::min<int64_t>(extent, llvm::alignTo(sizes[d], steps[d]));
        if (other[d] > 0)
          addBlock(other);
      }
  }

  void varyAttention() {
    grad::AttentionForm form = findAttention(kernel).getAttention();
    AttentionSizes sizes(form);
    int64_t step = attentionStep(lanes, level);
    if (form.isGradient())
      return varyBlock({level.tileRows, step}, {sizes.queries, sizes.keys});
    varyBlock({level.tileRows}, {sizes.keys});
    int64_t queries = storedDim(form.order, /*dim=*/2);
    for (int64_t steps : {1, 2, 3, 4}) {
      Dims other = tile;
      other[queries] = steps * step;
      if (other[queries] < size(queries) + step)
        addTile(other);
    }
  }

  /// Lines and columns are transformed in blocks; columns and pictures are divided evenly.
  void varyWinograd() {
    bool isGradient = !standard.getBlock().empty();
    int64_t outputs = standard.getWinogradOutputs();
    auto picture = cast<RankedTensorType>(productOf(kernel)->getOperand(1).getType());
    for (int64_t d = isGradient ? 1 : 0; d < 3; ++d) {
      int64_t unit = d < 2 ? outputs : 1, all = isGradient ? picture.getDimSize(d) : size(d);
      Dims other = isGradient ? block() : tile;
      int64_t together = other[d] / unit, most = llvm::divideCeil(all, unit);
      for (int64_t n : {together / 2, 2 * together}) {
        if (n < 1 || n > most || (d > 0 && most % n != 0))
          continue;
        other[d] = n * unit;
        isGradient ? addBlock(other) : addTile(other);
      }
    }
  }

  /// Register tiles keep whole vectors of columns; factors in panels are as wide as the tile.
  void varyProduct() {
    for (const Dims &other : orders())
      if (panels().empty())
        add(tile, other, block(), {});
    if (!panels().empty())
      add(tile, order, block(), {});
    Dims sums = block();
    for (int64_t &n : sums)
      n *= 4;
    varyBlock(Dims(sums.size(), 1), sums);
    if (level.amxRows && kernel.readsPairs()) // blocks of tile registers have one size
      return;
    bool hasRows = llvm::any_of(ArrayRef(tile).drop_back(), [](int64_t n) { return n > 1; });
    for (int64_t d = 0; d < last(); ++d) {
      if (hasRows && tile[d] == 1)
        continue;
      for (int64_t vectors : {1, 2, 3, 4, 6})
        for (int64_t rows : {2, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 24})
          if (fitsRegisters(rows, vectors) && rows <= size(d) && keepsPanels(vectors * lanes)) {
            Dims other = tile;
            other[d] = rows;
            other[last()] = vectors * lanes;
            addTile(other);
          }
    }
  }

  /// Accumulators, a row of columns, and a vector for the lhs.
  bool fitsRegisters(int64_t rows, int64_t vectors) const {
    int64_t sums = rows * vectors;
    return sums + vectors < level.vectorRegisters && 3 * sums >= level.vectorRegisters &&
           (vectors - 1) * lanes < size(last());
  }

  bool keepsPanels(int64_t columns) {
    if (!panels().empty() && columns != tile[last()])
      return false;
    unsigned slices = kernel.getBlock().getNumArguments() + kernel.getYielded().size();
    return llvm::all_of(llvm::seq(slices), [&](unsigned i) {
      exec::PanelAttr layout = kernel.getLayout(i);
      return !layout || layout.getWidth() % columns == 0;
    });
  }

  /// The register tile of loops is some rows by some vectors. Rows are of any dim: the one along
  /// which an operand's lanes lie is the best for a transpose.
  void varyLoops() {
    bool isLaid =
        kernel.getLayouts() && llvm::any_of(*kernel.getLayouts(), llvm::IsaPred<exec::PanelAttr>);
    for (const Dims &other : orders()) {
      add(tile, other, {}, {});
      if (isLaid || other.back() != last())
        continue;
      for (int64_t vectors : {1, 2, 4, 8}) {
        if ((vectors - 1) * lanes >= size(last()))
          continue;
        Dims wide(tile.size(), 1);
        wide[last()] = vectors * lanes;
        add(wide, other, {}, {});
        for (int64_t d = 0; d < last(); ++d)
          for (int64_t rows : {int64_t(2), int64_t(4), int64_t(8), lanes}) {
            if (rows > size(d) || rows * vectors > level.vectorRegisters)
              continue;
            Dims high = wide;
            high[d] = rows;
            add(high, other, {}, {});
          }
      }
    }
  }

  exec::ScheduleAttr standard;
  llvm::SetVector<exec::ScheduleAttr> found;
};

} // namespace

SmallVector<exec::ScheduleAttr> gradc::scheduleCandidates(exec::KernelOp kernel,
                                                          const exec::Level &level) {
  return Candidates(kernel, level).list();
}
