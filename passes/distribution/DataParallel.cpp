// Adds sums over ranks where a single-process step sums over the rows of its batch.
#include "passes/distribution/DataParallel.h"

#include "dialects/grad/Build.h"
#include "passes/distribution/MicroBatches.h"
#include "passes/distribution/RowSums.h"
#include "passes/entry/Ports.h"
#include "passes/training/StepAttributes.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

std::unique_ptr<DataParallel> DataParallel::of(func::FuncOp function) {
  if (!function->hasAttr(ranksName))
    return nullptr;
  return std::unique_ptr<DataParallel>(new DataParallel(function));
}

DataParallel::DataParallel(func::FuncOp function)
    : function(function), exit(function.front().getTerminator()), b(exit) {
  auto options = function->getAttrOfType<DictionaryAttr>(ranksName);
  bf16 = options && options.contains("bf16");
  isSynchronized = options && options.contains("synchronize_batch_norm");
  isCut = options && options.contains("cut");
}

/// Values of 16 bits are summed in f32, and the sum is rounded.
static Value sumOverRanks(OpBuilder &b, Value value, bool isNarrow) {
  Expr x(b, value.getLoc(), value);
  Value sum = AllReduceOp::create(b, value.getLoc(), x.wide().get(), isNarrow).getResult(0);
  return x.with(sum).cast(x.element());
}

Value DataParallel::sum(Value value) { return sumOverRanks(b, value, /*isNarrow=*/false); }

/// The value, but 0 on a rank without rows: such a rank computes on one row that is not in the
/// batch.
Value DataParallel::whereRows(OpBuilder &builder, Value value, Value rankRows) {
  Expr x(builder, value.getLoc(), value), n = x.with(rankRows);
  Expr isThere = n.compare(ComparePredicate::gt, n.splat(0));
  return isThere.broadcastScalar(x.type().clone(b.getI1Type())).select(x, x.splat(0));
}

Value DataParallel::whereRows(Value value) { return whereRows(b, value, rows); }

/// x times this rank's portion of all rows.
static Expr byPortion(Expr x, Value portion) {
  return x * x.with(portion).cast(x.element()).broadcastScalar(x.type());
}

/// The mean over ranks, weighted by their rows.
Value DataParallel::meanByRows(Value value) {
  Expr x(b, value.getLoc(), value);
  return x.with(sum(whereRows(byPortion(x.wide(), portion)))).cast(x.element());
}

/// If the loss has no count of its own, a rank's numerator is weighted by its rows, unless it is a
/// sum over them.
Value DataParallel::inverseOf(Value numerator, Value denominator, bool counts) {
  Expr x(b, denominator.getLoc(), denominator);
  if (counts)
    return gradc::inverseOf(x.with(sum(whereRows(denominator))));
  return sums.contains(numerator) ? 1 / x : byPortion(1 / x, portion);
}

/// This rank's share of a quotient over all rows. A quotient without a count of its own, such as a
/// mean that the model computes or a regularizer, is weighted by the rank's rows, unless it is a
/// sum over them.
Value DataParallel::shareOf(Value numerator, Value denominator) {
  Expr x(b, numerator.getLoc(), numerator);
  if (!matchPattern(denominator, m_Constant()))
    return x * gradc::inverseOf(x.with(sum(whereRows(denominator))));
  return whereRows((sums.contains(numerator) ? x : byPortion(x, portion)) / x.with(denominator));
}

void DataParallel::findPortion() {
  StringRef role = gradc_role_name(GRADC_ROLE_RANK_ROWS);
  rows = argumentOfRole(function, role);
  if (!rows)
    rows = addArgument(function, RankedTensorType::get({}, b.getF32Type()), role, role);
  OpBuilder begin = OpBuilder::atBlockBegin(&function.front());
  Expr mine(begin, function.getLoc(), rows);
  auto all = AllReduceOp::create(begin, function.getLoc(), rows, /*bf16=*/false);
  portion = mine / mine.with(all.getResult(0));
}

LogicalResult DataParallel::begin() {
  SmallVector<Value> numerators = resultsOfRole(function, lossNumeratorRole),
                     denominators = resultsOfRole(function, lossDenominatorRole);
  if (numerators.empty() || numerators.size() != denominators.size())
    return function.emitError("expected results with roles \"")
           << lossNumeratorRole << "\" and \"" << lossDenominatorRole
           << "\" for a step of several ranks, found " << numerators.size() << " and "
           << denominators.size();
  SmallVector<Value> others = denominators;
  for (gradc_role role : {GRADC_ROLE_METRIC, GRADC_ROLE_SUMS})
    llvm::append_range(others, resultsOfRole(function, gradc_role_name(role)));
  FailureOr<RowSumsFound> found = checkRowSums(function, numerators, others);
  if (failed(found))
    return failure();
  sums = std::move(found->sums);
  findPortion();
  for (Value gradient : found->gradientsOfMeans) {
    OpBuilder behind(function.getContext());
    behind.setInsertionPointAfterValue(gradient);
    Value scaled = byPortion(Expr(behind, gradient.getLoc(), gradient), portion);
    gradient.replaceUsesWithIf(
        scaled, [&](OpOperand &use) { return use.getOwner() != scaled.getDefiningOp(); });
  }
  return success();
}

bool DataParallel::isOwn(Operation *op) const {
  Operation *quotient = portion.getDefiningOp();
  return op == quotient || llvm::is_contained(quotient->getOperands(), op->getResult(0));
}

void DataParallel::shareLoss() {
  SmallVector<Value> numerators = resultsOfRole(function, lossNumeratorRole),
                     denominators = resultsOfRole(function, lossDenominatorRole);
  Value total;
  for (auto [numerator, denominator] : llvm::zip_equal(numerators, denominators)) {
    Expr term(b, numerator.getLoc(), shareOf(numerator, denominator));
    total = total ? (term.with(total) + term).get() : term.get();
  }
  exit->setOperand(0, total);
  for (StringRef served : {lossNumeratorRole, lossDenominatorRole})
    eraseResults(function, served);
}

/// Numbers about the batch, and statistics that the forward has updated by this rank's rows.
void DataParallel::sumResults() {
  for (OpOperand &result : exit->getOpOperands()) {
    StringRef role = roleOfResult(function, result.getOperandNumber());
    if (role == gradc_role_name(GRADC_ROLE_METRIC))
      result.set(meanByRows(result.get()));
    else if (role == gradc_role_name(GRADC_ROLE_SUMS))
      result.set(sum(whereRows(result.get())));
  }
  if (isSynchronized)
    return; // statistics are those of all ranks
  for (auto write : llvm::to_vector(function.getOps<WriteOp>())) {
    write.getValueMutable().assign(meanByRows(write.getValue()));
    write->moveBefore(exit);
  }
}

void DataParallel::sumGradients(MutableArrayRef<Value> gradients) {
  for (Value &gradient : gradients) {
    Type element = getElementTypeOrSelf(gradient);
    // The sum of a bf16 gradient is rounded to bf16 anyway.
    bool isNarrow = element.isBF16() || (bf16 && accumulatorOf(element).isF32());
    gradient = sumOverRanks(b, gradient, isNarrow);
  }
}

LogicalResult DataParallel::scatterGradients(ArrayRef<Value> parameters,
                                             MutableArrayRef<Value> gradients) {
  for (auto [parameter, gradient] : llvm::zip_equal(parameters, gradients)) {
    auto read = parameter.getDefiningOp<ReadOp>();
    Type element = read.getType().getElementType(); // gradients of micro-batches are wider
    if (accumulatorOf(element) != element)
      return read.emitError(
                 "expected parameters of f32 or f64 for ranks that each update a part of them, "
                 "found \"")
             << read.getState() << "\" of " << element << "; choose strategy: MIRRORED";
    bool isNarrow = bf16 && element.isF32();
    Attribute state = read.getStateAttr();
    gradient =
        ReduceScatterOp::create(b, gradient.getLoc(), gradient, b.getArrayAttr(state), isNarrow)
            .getResult(0);
  }
  return success();
}

void DataParallel::sumLoss() { exit->setOperand(0, sum(exit->getOperand(0))); }

Value DataParallel::onAll(Value condition) {
  Expr isNot = Expr(b, condition.getLoc(), condition).apply<NotOp>();
  Expr count = isNot.with(sum(isNot.cast(b.getF32Type())));
  return count.compare(ComparePredicate::eq, count.splat(0));
}
