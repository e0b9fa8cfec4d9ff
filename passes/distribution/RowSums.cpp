// Follows sums over rows forward: linear functions of sums count as sums, all others are rejected.
#include "passes/distribution/RowSums.h"

#include "passes/entry/Extents.h"
#include "passes/entry/Ports.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

class RowSums {
public:
  RowSums(func::FuncOp function, int64_t rows) : function(function), analysis(rows) {}

  FailureOr<gradc::RowSumsFound> check(ValueRange terms, ValueRange others);

private:
  std::optional<LogicalResult> visitState(Operation *op);
  LogicalResult follow(Operation &op);
  LogicalResult followRequest(GradientOp request);
  LogicalResult refuse(Operation &op, const Twine &what);
  bool isSumOverRows(Operation *op) const;
  bool isLinear(Operation *op) const;
  bool isMixing(Operation *op) const;
  LogicalResult refuseMixture(Value term);

  /// The terms of a value that is the same for all rows.
  enum Content : unsigned {
    sum = 1,   ///< a sum over the rank's rows, or a linear function of one
    mean = 2,  ///< the same, divided by the number of the rank's rows
    count = 4, ///< depends only on the number of the rank's rows
    mixed = 8, ///< a sum over rows, to which something else has been added
  };
  unsigned contentOf(ValueRange values) const {
    unsigned all = 0;
    for (Value v : values)
      all |= contents.lookup(v);
    return all;
  }
  bool isSum(Value v) const { return contentOf(v) & (sum | mean); }
  bool isOnlySum(Value v) const { return (contentOf(v) & (sum | mean)) == sum; }
  unsigned resultOf(Operation &op) const;

  func::FuncOp function;
  ExtentAnalysis analysis;
  DenseSet<Operation *> wanted; ///< the ops that the results depend on
  DenseMap<Value, unsigned> contents;
  SmallVector<Value> ofMeans; ///< gradients of means over rows, for each row
};

} // namespace

/// Writes and counts are taken as they are.
std::optional<LogicalResult> RowSums::visitState(Operation *op) {
  if (auto counted = dyn_cast<CountOp>(op)) {
    const Extents *extents = analysis.find(counted.getOperand());
    if (extents && llvm::any_of(counted.getDims(), [&](int64_t d) { return (*extents)[d] > 0; }))
      contents[counted] = count;
  }
  return visitCountOrWrite(op, analysis);
}

bool RowSums::isSumOverRows(Operation *op) const {
  return isa<ReduceSumOp, ReduceMeanOp, ContractionOpInterface>(op) &&
         !analysis.isBatched(op->getResult(0));
}

/// Of an op that reads sums. Rows may not be factors of a sum: theirs would be a product of sums.
bool RowSums::isLinear(Operation *op) const {
  if (isa<AddOp, SubOp, NegOp, CastOp, ReshapeOp, BroadcastOp, TransposeOp, ReduceSumOp,
          ReduceMeanOp, AllReduceOp, OptimizationBarrierOp>(op))
    return true;
  if (isa<MulOp, DivOp>(op)) {
    bool isLeft = isSum(op->getOperand(0));
    Value factor = op->getOperand(isLeft ? 1 : 0);
    return !isSum(factor) && !analysis.isBatched(factor) && (isLeft || isa<MulOp>(op));
  }
  return false;
}

/// Whether the op adds a sum over rows and what is none. A multiple of the number of rows is one,
/// and a zero is what Python's `sum` begins with.
bool RowSums::isMixing(Operation *op) const {
  if (!isa<AddOp, SubOp>(op) || analysis.isBatched(op->getResult(0)))
    return false;
  Value left = op->getOperand(0), right = op->getOperand(1);
  Value other = isOnlySum(left) ? right : left;
  return isOnlySum(left) != isOnlySum(right) && contentOf(other) != count &&
         !matchPattern(other, m_AnyZeroFloat());
}

/// The range of an activation, which scales it but takes no gradient.
static bool isObservation(Operation *op) {
  if (!isa<ReduceMaxOp, ReduceMinOp>(op))
    return false;
  Operation *source = op->getOperand(0).getDefiningOp();
  while (isa_and_present<ReshapeOp, TransposeOp>(source)) // it has moved above them
    source = source->getOperand(0).getDefiningOp();
  auto observed = dyn_cast_if_present<StraightThroughOp>(source);
  return observed && matchPattern(observed->getOperand(0), m_Constant());
}

LogicalResult RowSums::refuse(Operation &op, const Twine &what) {
  return op.emitError("expected the loss and metrics of a step that ranks share to be sums or "
                      "means over rows, found ")
         << what;
}

/// The terms of an op's results, if the op is legal.
unsigned RowSums::resultOf(Operation &op) const {
  unsigned read = contentOf(op.getOperands());
  if (isMixing(&op))
    read |= mixed;
  bool scalesByCount = (read & count) && (read & (sum | mean));
  if (!scalesByCount)
    return read;
  bool isMean = isa<DivOp>(op) && !(contentOf(op.getOperand(0)) & mean);
  return (read & mixed) | (isMean ? mean : sum | mean);
}

/// A request for each row's own value gives that, but for the number of rows of which the objective
/// is the mean; one for what rows share is a sum or a mean over them as the objective is.
LogicalResult RowSums::followRequest(GradientOp request) {
  unsigned objective = contentOf(request.getObjective());
  for (Value result : request.getResults()) {
    if (!analysis.isBatched(result)) {
      contents[result] = objective;
      continue;
    }
    if ((objective & sum) && (objective & mean))
      return refuse(*request, "a gradient of a sum and a mean over rows at once: request them "
                              "one by one");
    if (objective & mean)
      ofMeans.push_back(result);
  }
  return success();
}

LogicalResult RowSums::follow(Operation &op) {
  bool couples = analysis.takeCoupling();
  if (isa<NormalizeOp>(op) || isObservation(&op))
    return success();
  if (auto request = dyn_cast<GradientOp>(op))
    return followRequest(request);
  StringRef name = op.getName().stripDialect();
  bool readsSums = llvm::any_of(op.getOperands(), [&](Value v) { return isSum(v); });
  if (readsSums && !isLinear(&op))
    return refuse(op, name + " of such a sum");
  if (couples && !isSumOverRows(&op))
    return refuse(op, name + (readsSums ? " of such a sum" : " across rows of the batch"));
  unsigned found = resultOf(op);
  if (couples)
    found |= isa<ReduceMeanOp>(op) ? mean : sum;
  if (found)
    for (Value result : op.getResults())
      contents[result] |= found;
  return success();
}

/// At the op that adds the two.
LogicalResult RowSums::refuseMixture(Value term) {
  Operation *op = term.getDefiningOp();
  auto isMixed = [&](Value v) { return contents.lookup(v) & mixed; };
  for (auto from = llvm::find_if(op->getOperands(), isMixed); from != op->operand_end();
       from = llvm::find_if(op->getOperands(), isMixed))
    op = (*from).getDefiningOp();
  return refuse(*op, op->getName().stripDialect() +
                         " of a sum over rows and what is none: make each an output with a loss { "
                         "scalar } of its own");
}

FailureOr<gradc::RowSumsFound> RowSums::check(ValueRange terms, ValueRange others) {
  SmallVector<Value> work(terms);
  llvm::append_range(work, others);
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp(); op && wanted.insert(op).second)
      llvm::append_range(work, op->getOperands());
  analysis.setArguments(function);
  if (Value rows = argumentOfRole(function, GRADC_ROLE_ROWS)) // that counts have become
    contents[rows] = count;
  analysis.setOther([this](Operation *op) { return visitState(op); });
  for (Operation &op : function.front().without_terminator()) {
    // An op without extents is refused when the rows of entries are bound.
    if (wanted.contains(&op) && failed(analysis.visit(&op)))
      break;
    if (wanted.contains(&op) && failed(follow(op)))
      return failure();
  }
  gradc::RowSumsFound found{std::move(ofMeans), {}};
  for (Value term : terms) {
    if (contents.lookup(term) & mixed)
      return refuseMixture(term);
    if (isOnlySum(term))
      found.sums.insert(term);
  }
  return found;
}

FailureOr<RowSumsFound> gradc::checkRowSums(func::FuncOp function, ValueRange terms,
                                            ValueRange others) {
  std::optional<int64_t> batch = batchOf(function);
  return batch ? RowSums(function, *batch).check(terms, others) : RowSumsFound();
}
