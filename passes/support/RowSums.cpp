// Follows sums over rows forward: what is linear in them is one, everything else is refused.
#include "passes/support/RowSums.h"

#include "passes/support/Extents.h"
#include "passes/support/Ports.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

class RowSums {
public:
  RowSums(func::FuncOp function, int64_t rows) : function(function), analysis(rows) {}

  LogicalResult check(ValueRange results);

private:
  std::optional<LogicalResult> visitState(Operation *op);
  LogicalResult follow(Operation &op);
  bool isSum(Value v) const { return sums.contains(v); }
  bool isSumOverRows(Operation *op) const;
  bool isLinear(Operation *op) const;

  func::FuncOp function;
  ExtentAnalysis analysis;
  DenseSet<Operation *> wanted; ///< what the results depend on
  DenseSet<Value> sums;         ///< over rows, or linear in such
};

} // namespace

/// Writes and counts are taken as they are.
std::optional<LogicalResult> RowSums::visitState(Operation *op) {
  if (auto count = dyn_cast<CountOp>(op))
    analysis.set(count, {});
  else if (!isa<WriteOp>(op))
    return std::nullopt;
  return success();
}

bool RowSums::isSumOverRows(Operation *op) const {
  return isa<ReduceSumOp, ReduceMeanOp, ContractionOpInterface>(op) &&
         !analysis.isBatched(op->getResult(0));
}

/// Of an op that reads sums. Rows may not be factors of a sum: theirs would be a product of sums.
bool RowSums::isLinear(Operation *op) const {
  if (isa<AddOp, SubOp, NegOp, CastOp, ReshapeOp, BroadcastOp, TransposeOp, ReduceSumOp,
          ReduceMeanOp, AllReduceOp>(op))
    return true;
  if (isa<MulOp, DivOp>(op)) {
    bool isLeft = isSum(op->getOperand(0));
    Value factor = op->getOperand(isLeft ? 1 : 0);
    return !isSum(factor) && !analysis.isBatched(factor) && (isLeft || isa<MulOp>(op));
  }
  return false;
}

LogicalResult RowSums::follow(Operation &op) {
  bool couples = analysis.takeCoupling();
  if (isa<NormalizeOp>(op))
    return success();
  bool readsSums = llvm::any_of(op.getOperands(), [&](Value v) { return isSum(v); });
  bool isRequest = isa<GradientOp>(op);
  if ((readsSums && !isRequest && !isLinear(&op)) || (couples && !isSumOverRows(&op)))
    return op.emitError("expected the loss and metrics of a step that ranks share to be sums or "
                        "means over rows, found ")
           << op.getName().stripDialect()
           << (readsSums ? " of such a sum" : " across rows of the batch");
  for (Value result : op.getResults())
    if (couples || (readsSums && !(isRequest && analysis.isBatched(result))))
      sums.insert(result);
  return success();
}

LogicalResult RowSums::check(ValueRange results) {
  SmallVector<Value> work(results);
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp(); op && wanted.insert(op).second)
      llvm::append_range(work, op->getOperands());
  analysis.setArguments(function);
  analysis.setOther([this](Operation *op) { return visitState(op); });
  for (Operation &op : function.front().without_terminator()) {
    // An op without extents is refused where entries are told which rows they take.
    if (wanted.contains(&op) && failed(analysis.visit(&op)))
      return success();
    if (wanted.contains(&op) && failed(follow(op)))
      return failure();
  }
  return success();
}

LogicalResult gradc::checkRowSums(func::FuncOp function, ValueRange results) {
  std::optional<int64_t> batch = batchOf(function);
  return batch ? RowSums(function, *batch).check(results) : success();
}
