// Follows each operand from its readers to the kernel's results. Results with other rows of the run
// than the root have loops of their own, after the root's, so only operands with the root's rows
// qualify.
#include "passes/kernel/InPlace.h"

#include "dialects/grad/TensorTypes.h"
#include "dialects/grad/indexing/Index.h"
#include "passes/kernel/Clusters.h"
#include "passes/kernel/Scatters.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

class InPlace {
public:
  explicit InPlace(exec::KernelOp kernel)
      : kernel(kernel), schedule(kernel.getScheduleAttr()), root(kernel.getRoot().getShape()) {
    if (kernel.getRows())
      rows = *kernel.getRows();
  }

  bool mayBeOverwritten(BlockArgument operand) {
    llvm::SetVector<Value> values;
    values.insert(operand);
    bool isReadBefore =
        shapeOf(operand) == root &&
        (rows.empty() || llvm::equal(kernel.getExtentsOf(operand.getArgNumber()), rows));
    for (size_t i = 0; i < values.size() && isReadBefore; ++i)
      for (Operation *user : values[i].getUsers()) {
        isReadBefore &= user->hasTrait<OpTrait::IsTerminator>() ||
                        loopKind(user) == LoopKind::elementwise || reducesRows(user) ||
                        repeatsRows(user, values[i]) || takesUpdates(user, values[i]);
        values.insert_range(user->getResults());
      }
    return isReadBefore;
  }

private:
  /// Whether the first dims of the root are those of the value.
  bool hasRowsOf(Value v) const {
    size_t rank = shapeOf(v).size();
    return rank <= root.size() && shapeOf(v) == root.take_front(rank);
  }

  /// Whether an element of the reduction is computed before any of the root's elements in its row
  /// is written: the loops over the dims that remain are outside those along the row, which has a
  /// constant length. (Conditions on other lengths hide what is known outside of them.)
  bool reducesRows(Operation *op) {
    if (!reducesTrailing(op) || !walksRows() || shapeOf(op->getOperand(0)) != root ||
        !hasRowsOf(op->getResult(0)))
      return false;
    int64_t kept = shapeOf(op->getResult(0)).size();
    auto isConstant = [](int64_t perRow) { return perRow == 0; };
    return kept > 0 && (rows.empty() || llvm::all_of(rows.drop_front(kept), isConstant)) &&
           llvm::all_of(schedule.getOrder().take_front(kept),
                        [&](int64_t dim) { return dim < kept; });
  }

  /// Whether one thread computes a row, in plain loops. (Threads of a GPU's blocks share rows.)
  bool walksRows() {
    return schedule && !kernel.getBlocksAttr() && !schedule.getTurned() &&
           schedule.getBlock().empty() && schedule.getPanels().empty() &&
           schedule.getAlgorithm() == exec::Algorithm::direct;
  }

  /// Whether the op repeats the value of each row along the row.
  bool repeatsRows(Operation *op, Value value) const {
    return broadcastsRows(op) && shapeOf(op->getResult(0)) == root && hasRowsOf(value);
  }

  /// Whether the value is nothing but what the updates of a scatter are added to, in the result's
  /// memory: a unit takes its elements before the updates of its targets.
  bool takesUpdates(Operation *op, Value value) {
    return schedule && schedule.getScatterUnits() && op == scatterOfResult(kernel) &&
           llvm::all_of(op->getOpOperands(), [&](OpOperand &o) {
             return o.get() != value || o.getOperandNumber() == 0;
           });
  }

  exec::KernelOp kernel;
  exec::ScheduleAttr schedule;
  ArrayRef<int64_t> root, rows; ///< the root's shape, and its elements per row of the run
};

} // namespace

SmallVector<int64_t> gradc::findInplace(exec::KernelOp kernel) {
  InPlace inPlace(kernel);
  SmallVector<int64_t> operands;
  for (BlockArgument argument : kernel.getBlock().getArguments())
    if (inPlace.mayBeOverwritten(argument))
      operands.push_back(argument.getArgNumber());
  return operands;
}
