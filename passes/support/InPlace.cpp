// Follows each operand from its readers to the kernel's results.
#include "passes/support/InPlace.h"

#include "passes/support/Clusters.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

class InPlace {
public:
  explicit InPlace(exec::KernelOp kernel)
      : schedule(kernel.getScheduleAttr()), walksRows(!kernel.getBlocksAttr()),
        root(kernel.getRoot().getShape()) {}

  bool holds(Value operand) const {
    llvm::SetVector<Value> values;
    values.insert(operand);
    bool isRead = shapeOf(operand) == root;
    for (size_t i = 0; i < values.size() && isRead; ++i)
      for (Operation *user : values[i].getUsers()) {
        isRead &= user->hasTrait<OpTrait::IsTerminator>() ||
                  loopKind(user) == LoopKind::elementwise || reducesRows(user) ||
                  repeatsRows(user, values[i]);
        values.insert_range(user->getResults());
      }
    return isRead;
  }

private:
  static ArrayRef<int64_t> shapeOf(Value v) { return cast<ShapedType>(v.getType()).getShape(); }

  /// Whether an element of the reduction is computed before any of the root's elements in its row
  /// is written: the loops over the dims that remain are outside those along the row.
  bool reducesRows(Operation *op) const {
    auto reduction = dyn_cast<ReductionOpInterface>(op);
    if (!reduction || !schedule || !walksRows || schedule.getTurned() ||
        !schedule.getBlock().empty() || schedule.getAlgorithm() != exec::Algorithm::direct ||
        shapeOf(op->getOperand(0)) != root)
      return false;
    int64_t kept = shapeOf(op->getResult(0)).size();
    ArrayRef<int64_t> outer = schedule.getOrder().take_front(kept);
    return kept > 0 && shapeOf(op->getResult(0)) == root.take_front(kept) &&
           llvm::equal(reduction.getReducedDims(), llvm::seq<int64_t>(kept, root.size())) &&
           llvm::all_of(outer, [&](int64_t dim) { return dim < kept; });
  }

  /// Whether the op repeats a value of each row along the row.
  bool repeatsRows(Operation *op, Value value) const {
    auto movement = dyn_cast<MovementOpInterface>(op);
    int64_t kept = shapeOf(value).size();
    return movement && isFree(op) && shapeOf(op->getResult(0)) == root &&
           shapeOf(value) == root.take_front(kept) &&
           llvm::equal(movement.getResultDims(), llvm::seq<int64_t>(0, kept));
  }

  exec::ScheduleAttr schedule;
  bool walksRows; ///< unlike a GPU's blocks, which share a row among threads
  ArrayRef<int64_t> root;
};

} // namespace

SmallVector<int64_t> gradc::findInplace(exec::KernelOp kernel) {
  InPlace inPlace(kernel);
  SmallVector<int64_t> operands;
  for (BlockArgument argument : kernel.getBlock().getArguments())
    if (inPlace.holds(argument))
      operands.push_back(argument.getArgNumber());
  return operands;
}
