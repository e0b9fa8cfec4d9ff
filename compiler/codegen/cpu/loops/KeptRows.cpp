// Finds results of the form f(value, statistics of its rows) in kernels that walk their root row by
// row.
#include "compiler/codegen/cpu/loops/KeptRows.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace gradc::cpu;
using namespace gradc::tile;

namespace {

/// Whether the op has one result and computes it with one loop per dim.
bool isElementwise(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && op.getNumResults() == 1 &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity();
}

class Finder {
public:
  Finder(exec::KernelOp kernel, const TileEmitter &tiles, const exec::Level &level)
      : kernel(kernel), tiles(tiles), level(level), root(kernel.getRoot()) {}

  std::optional<KeptRows> find() {
    auto isRoot = [&](Value result) { return result.getType() == root; };
    auto results = kernel.getYielded();
    if (llvm::count_if(results, isRoot) != 1 || !walksRows())
      return std::nullopt;
    unsigned number = llvm::find_if(results, isRoot) - results.begin();
    auto last = results[number].getDefiningOp<linalg::GenericOp>();
    if (last && isElementwise(last))
      for (OpOperand *input : last.getDpsInputOperands())
        if (auto sum = sumOf(*input, last))
          return KeptRows{input->get(), sum, number};
    return std::nullopt;
  }

private:
  /// Whether one thread computes a row, vector by vector, from and to the first-level caches.
  bool walksRows() {
    exec::ScheduleAttr schedule = kernel.getScheduleAttr();
    int64_t dims = root.getRank(), last = dims - 1;
    if (dims < 2 || kernel.getPatchAttr() || schedule.getTurned() || schedule.getScatterUnits() ||
        !schedule.getBlock().empty() || !schedule.getPanels().empty() ||
        !schedule.getSpacing().empty() || tiles.rowsOf(root, kernel.getYielded())[last] != 0)
      return false;
    int64_t lanes = schedule.getLanes(), size = root.getShape()[last];
    int64_t bytes = size * grad::elementBytes(root.getElementType());
    return exec::laneDim(schedule.getTile(), lanes) == last && schedule.getOrder().back() == last &&
           size > level.rowVectors * lanes && bytes <= level.cachedBytes();
  }

  /// The sum of the operand's rows, if the operand has no other reader than it and `last`.
  linalg::GenericOp sumOf(OpOperand &operand, linalg::GenericOp last) {
    Value value = operand.get();
    auto op = value.getDefiningOp<linalg::GenericOp>();
    if (value.getType() != root || !op || !isElementwise(op) || !isCostly(op) ||
        !last.getMatchingIndexingMap(&operand).isIdentity() ||
        std::distance(value.use_begin(), value.use_end()) != 2)
      return {};
    for (OpOperand &use : value.getUses())
      if (auto sum = dyn_cast<linalg::GenericOp>(use.getOwner());
          sum && sum != last && sumsRows(sum, use) && readsOnlyBefore(value, sum))
        return sum;
    return {};
  }

  static bool isCostly(linalg::GenericOp op) {
    return llvm::any_of(*op.getBody(), [](Operation &inner) {
      return isa<math::ExpOp, math::ExpM1Op, math::TanhOp, math::ErfOp, math::PowFOp, math::SinOp,
                 math::CosOp, math::LogOp, math::Log1pOp>(inner);
    });
  }

  /// Whether `sum` adds vectors along the row.
  static bool sumsRows(linalg::GenericOp sum, OpOperand &operand) {
    SmallVector<unsigned> reduced = reducedDims(sum);
    return sum.getNumDpsInputs() == 1 && sum.getNumResults() == 1 && reduced.size() == 1 &&
           reduced[0] + 1 == sum.getNumLoops() &&
           sum.getMatchingIndexingMap(&operand).isIdentity() && combinedValue(sum) &&
           sum.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  }

  /// Whether nothing that is computed after `sum` reads an operand that a result may overwrite. For
  /// this, `sum` has to be the last reduction: `value` depends on each other one, which gives one
  /// number per row.
  bool readsOnlyBefore(Value value, linalg::GenericOp sum) {
    llvm::SetVector<Value> before = below({value}, {}), after = below(kernel.getYielded(), value);
    auto mayBeOverwritten = [&](Value v) {
      auto argument = dyn_cast<BlockArgument>(v);
      return argument && llvm::is_contained(kernel.getInplace().value_or(ArrayRef<int64_t>()),
                                            int64_t(argument.getArgNumber()));
    };
    auto isStatistic = [&](Operation *op) {
      return cast<RankedTensorType>(op->getResult(0).getType()).getRank() < root.getRank();
    };
    for (Operation &op : kernel.getBlock())
      if (auto generic = dyn_cast<linalg::GenericOp>(op);
          generic && generic.getNumReductionLoops() > 0 && generic != sum &&
          !(before.contains(generic.getResult(0)) && isStatistic(generic)))
        return false;
    return llvm::none_of(after, mayBeOverwritten);
  }

  /// The values and all that they depend on, but not what reductions and `end` depend on.
  static llvm::SetVector<Value> below(ValueRange values, Value end) {
    llvm::SetVector<Value> found(values.begin(), values.end());
    for (size_t i = 0; i < found.size(); ++i) {
      auto generic = found[i].getDefiningOp<linalg::GenericOp>();
      if (Operation *op = found[i].getDefiningOp();
          op && found[i] != end && !(generic && generic.getNumReductionLoops() > 0))
        found.insert_range(op->getOperands());
    }
    return found;
  }

  exec::KernelOp kernel;
  const TileEmitter &tiles;
  const exec::Level &level;
  RankedTensorType root;
};

} // namespace

std::optional<KeptRows> gradc::cpu::findKeptRows(exec::KernelOp kernel, const TileEmitter &tiles,
                                                 const exec::Level &level) {
  return Finder(kernel, tiles, level).find();
}
