// The body of a training function becomes the region of a scan, which carries sums.
#include "passes/distribution/MicroBatches.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/control/Control.h"
#include "passes/distribution/DataParallel.h"
#include "passes/entry/Extents.h"
#include "passes/entry/Ports.h"
#include "passes/training/StepAttributes.h"

using namespace mlir;
using namespace mlir::grad;

namespace {

/// The values that ops of a region under construction capture from the function around it.
class RegionInputs {
public:
  explicit RegionInputs(Block &block) : block(block) {}

  void map(Value outside, Value inside) { known[outside] = inside; }

  /// The value inside the block: the value itself, or the argument that replaces it.
  Value find(Value v) {
    if (!isa_and_nonnull<func::FuncOp>(v.getParentBlock()->getParentOp()))
      return v;
    Value &seen = known[v];
    if (seen)
      return seen;
    if (auto constant = v.getDefiningOp<ConstantOp>()) {
      OpBuilder b(v.getContext());
      b.setInsertionPointToStart(&block);
      return seen = b.clone(*constant)->getResult(0);
    }
    invariants.push_back(v);
    return seen = block.addArgument(v.getType(), v.getLoc());
  }
  /// Makes all ops of the block read what stands there.
  void isolate() {
    for (Operation &op : llvm::make_early_inc_range(block))
      for (OpOperand &operand : op.getOpOperands())
        operand.set(find(operand.get()));
  }
  ArrayRef<Value> getInvariants() const { return invariants; }

private:
  Block &block;
  DenseMap<Value, Value> known;
  SmallVector<Value> invariants;
};

/// Converts a training function from one micro-batch to several.
class Accumulation {
public:
  Accumulation(func::FuncOp function, int64_t count, gradc::DataParallel *ranks)
      : function(function), exit(function.front().getTerminator()), b(exit), ranks(ranks),
        count(count), block(std::make_unique<Block>()), inputs(*block) {}

  SmallVector<Value> run(ArrayRef<Value> parameters, gradc::RowsRead &reads);

private:
  bool isRole(unsigned result, StringRef role) {
    return gradc::roleOfResult(function, result) == role;
  }
  bool isRole(unsigned result, gradc_role role) { return isRole(result, gradc_role_name(role)); }
  Value splatLike(Value like, double value) {
    return splat(b, like.getLoc(), cast<RankedTensorType>(like.getType()), value);
  }
  /// A new carried value, as the region sees it.
  BlockArgument carry(Value first) {
    initial.push_back(first);
    return block->addArgument(first.getType(), first.getLoc());
  }

  void widenArguments();
  Value stackOf(Value all, RankedTensorType one);
  Value unstack(Value steps);
  void findPerRow(CountOp counted);
  Value inverseOf(Value numerator, Value denominator);
  Value sumOf(Value denominator);
  void carryStates();
  void takeInputs(ArrayRef<Value> parameters);
  void numberDraws();
  Value addTerms(OpBuilder &inside, ArrayRef<Value> inverses);
  SmallVector<Value> buildSums(ArrayRef<Value> parameters, const gradc::RowsRead &reads,
                               ArrayRef<Value> inverses);
  void takeResults(ScanOp scan);

  func::FuncOp function;
  Operation *exit;
  OpBuilder b;                ///< inserts at the end of the body
  gradc::DataParallel *ranks; ///< null for a single rank
  int64_t count;
  DenseMap<Operation *, double> perRow; ///< by count: the elements that it counts in each row
  SmallVector<Value> rows;              ///< arguments that hold rows
  SmallVector<Value> stacks;            ///< the same as stacks of one step per micro-batch
  std::unique_ptr<Block> block;
  RegionInputs inputs;
  /// The initial carried values: states, the number of the micro-batch, `sums`, `gradients`.
  SmallVector<Value> initial;
  SmallVector<WriteOp> writes;
  BlockArgument micro;
  SmallVector<OpOperand *> numbers; ///< results that are added up, the loss first
  SmallVector<OpOperand *> samples; ///< results with a number for each row
  SmallVector<BlockArgument> sums, gradients;
};

} // namespace

/// Extends arguments to the rows of all micro-batches.
void Accumulation::widenArguments() {
  for (BlockArgument argument : function.getArguments()) {
    if (!function.getArgAttr(argument.getArgNumber(), batchedName))
      continue;
    auto one = cast<RankedTensorType>(argument.getType());
    SmallVector<int64_t> all(one.getShape());
    all[0] *= count;
    argument.setType(one.clone(all));
    rows.push_back(argument);
    stacks.push_back(stackOf(argument, one));
  }
  ArrayRef<Type> results = function.getResultTypes();
  function.setType(b.getFunctionType(function.front().getArgumentTypes(), results));
  std::optional<int64_t> batch = gradc::batchOf(function);
  if (batch && !ranks)
    function->setAttr(batchName, b.getI64IntegerAttr(*batch * count));
  if (ranks)
    function->setAttr(gradc::rowUnitName, b.getI64IntegerAttr(count));
}

/// Exchanges the first two dims.
static Expr exchanged(Expr x) {
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, x.type().getRank()));
  std::swap(order[0], order[1]);
  return x.transpose(order);
}

/// The rows of all micro-batches as steps of one each. With ranks a run has a part of the rows,
/// which all micro-batches share: they take them in turn.
Value Accumulation::stackOf(Value all, RankedTensorType one) {
  SmallVector<int64_t> shape(one.getShape());
  shape.insert(shape.begin() + (ranks != nullptr), count);
  Expr steps = Expr(b, all.getLoc(), all).reshape(shape);
  return ranks ? exchanged(steps) : steps;
}

/// The reverse.
Value Accumulation::unstack(Value steps) {
  Expr all(b, steps.getLoc(), steps);
  if (ranks)
    all = exchanged(all);
  SmallVector<int64_t> shape(all.type().getShape().drop_front());
  shape[0] = all.type().getDimSize(0) * all.type().getDimSize(1);
  return all.reshape(shape);
}

/// If the count is over rows of one micro-batch, records what it counts in each row.
void Accumulation::findPerRow(CountOp counted) {
  gradc::ExtentAnalysis analysis(*gradc::batchOf(function));
  analysis.setArguments(function);
  analysis.setOther([&](Operation *op) { return gradc::visitCountOrWrite(op, analysis); });
  for (Operation &op : function.front())
    if (&op == counted || failed(analysis.visit(&op)))
      break;
  const gradc::Extents *extents = analysis.find(counted.getOperand());
  double each = 1;
  bool hasRows = false;
  for (int64_t d : counted.getDims()) {
    int64_t extent = extents ? (*extents)[d] : 0;
    hasRows |= extent > 0;
    each *= double(extent > 0 ? extent : counted.getOperand().getType().getDimSize(d));
  }
  if (hasRows)
    perRow[counted] = each;
}

/// The inverse of the sum of a numerator's denominator over all micro-batches.
Value Accumulation::inverseOf(Value numerator, Value denominator) {
  Value sum = sumOf(denominator);
  return ranks ? ranks->inverseOf(numerator, sum, !matchPattern(denominator, m_Constant()))
               : gradc::inverseOf(Expr(b, denominator.getLoc(), sum)).get();
}

/// The sum of a denominator over all micro-batches, known before the first of them.
Value Accumulation::sumOf(Value denominator) {
  Operation *producer = denominator.getDefiningOp();
  while (auto cast = dyn_cast_or_null<CastOp>(producer))
    producer = cast.getOperand().getDefiningOp();
  if (producer && perRow.contains(producer)) {
    Expr each(b, denominator.getLoc(), splatLike(denominator, perRow[producer]));
    Value all =
        CountOp::create(b, denominator.getLoc(), rows.front(), ArrayRef<int64_t>{0}, IntegerAttr());
    return each * each.with(all).cast(each.element());
  }
  if (auto counted = dyn_cast_or_null<CountOp>(producer)) {
    auto type = cast<RankedTensorType>(counted.getOperand().getType());
    int64_t each = 1;
    for (int64_t d : counted.getDims())
      each *= type.getDimSize(d);
    // By now, an argument holds the rows of all micro-batches.
    bool isWhole = llvm::is_contained(rows, counted.getOperand());
    return splatLike(denominator, double(isWhole ? each : each * count));
  }
  llvm::SetVector<Operation *> slice;
  auto collect = [&](auto &&self, Value v) -> void {
    Operation *op = v.getDefiningOp();
    if (!op || isa<ReadOp, ConstantOp>(op))
      return;
    for (Value operand : op->getOperands())
      self(self, operand);
    slice.insert(op);
  };
  collect(collect, denominator);
  auto region = std::make_unique<Block>();
  Location at = denominator.getLoc();
  Value sum = region->addArgument(denominator.getType(), at);
  RegionInputs seen(*region);
  for (auto [row, stack] : llvm::zip_equal(rows, stacks))
    seen.map(row, region->addArgument(stepType(stack.getType()), at));
  OpBuilder inside(function.getContext());
  inside.setInsertionPointToEnd(region.get());
  IRMapping copies;
  for (Operation *op : slice)
    inside.clone(*op, copies);
  seen.isolate();
  Value one = seen.find(copies.lookupOrDefault(denominator));
  Value next = Expr(inside, at, sum) + Expr(inside, at, one);
  ScanOperands operands{{splatLike(denominator, 0)}, stacks, {}};
  llvm::append_range(operands.invariants, seen.getInvariants());
  return buildScan(b, at, count, /*reverse=*/false, operands, std::move(region), next).getResult(0);
}

/// States that the body writes pass through all micro-batches.
void Accumulation::carryStates() {
  llvm::append_range(writes, function.getOps<WriteOp>());
  for (WriteOp write : writes) {
    Value first;
    BlockArgument argument;
    for (auto read : function.getOps<ReadOp>())
      if (read.getStateAttr() == write.getStateAttr()) {
        if (!first)
          argument = carry(first = read);
        inputs.map(read, argument);
      }
    if (first)
      continue;
    OpBuilder begin = OpBuilder::atBlockBegin(&function.front());
    carry(ReadOp::create(begin, write.getLoc(), write.getValue().getType(), write.getStateAttr()));
  }
}

/// Gives each micro-batch of a run its own random numbers by counting steps and micro-batches. All
/// steps use the largest number of micro-batches of any step as the stride.
void Accumulation::numberDraws() {
  Value counter = gradc::argumentOfRole(function, GRADC_ROLE_COUNTER);
  if (!counter)
    return;
  OpBuilder inside(function.getContext());
  inside.setInsertionPointToStart(block.get());
  Expr step(inside, counter.getLoc(), inputs.find(counter));
  auto most = function->getAttrOfType<IntegerAttr>(gradc::mostMicroBatchesName);
  inputs.map(counter,
             step * double(most ? most.getInt() : count) + step.with(micro).cast(step.element()));
}

/// Adds the arguments of the region: carried values first, then the steps of values with rows.
void Accumulation::takeInputs(ArrayRef<Value> parameters) {
  carryStates();
  micro = carry(splat(b, function.getLoc(), RankedTensorType::get({}, b.getI32Type()), 0));
  for (OpOperand &result : exit->getOpOperands()) {
    unsigned i = result.getOperandNumber();
    if (isRole(i, gradc::lossNumeratorRole) || isRole(i, gradc::lossDenominatorRole))
      continue;
    if (isRole(i, GRADC_ROLE_SAMPLES)) {
      samples.push_back(&result);
      continue;
    }
    numbers.push_back(&result);
    sums.push_back(carry(splatLike(result.get(), 0)));
  }
  // Sums of 16-bit gradients are f32.
  for (Value parameter : parameters) {
    auto type = cast<RankedTensorType>(parameter.getType());
    Type wide = accumulatorOf(type.getElementType());
    gradients.push_back(carry(splat(b, parameter.getLoc(), type.clone(wide), 0)));
  }
  for (auto [row, stack] : llvm::zip_equal(rows, stacks))
    inputs.map(row, block->addArgument(stepType(stack.getType()), row.getLoc()));
}

/// The loss of a micro-batch: its share of the whole batch's loss.
Value Accumulation::addTerms(OpBuilder &inside, ArrayRef<Value> inverses) {
  Value loss;
  for (auto [numerator, denominator, inverse] :
       llvm::zip_equal(gradc::resultsOfRole(function, gradc::lossNumeratorRole),
                       gradc::resultsOfRole(function, gradc::lossDenominatorRole), inverses)) {
    Value part = inputs.find(numerator);
    if (ranks && matchPattern(denominator, m_Constant()))
      part = ranks->whereRows(inside, part, inputs.find(ranks->rankRows()));
    Expr term = Expr(inside, numerator.getLoc(), part) *
                Expr(inside, numerator.getLoc(), inputs.find(inverse));
    loss = loss ? (term.with(loss) + term).get() : term.get();
  }
  return loss;
}

/// Builds the operands of the region's yield: the next carried values, then the steps of stacks.
SmallVector<Value> Accumulation::buildSums(ArrayRef<Value> parameters, const gradc::RowsRead &reads,
                                           ArrayRef<Value> inverses) {
  Location at = function.getLoc();
  OpBuilder inside(function.getContext());
  inside.setInsertionPointToEnd(block.get());
  SmallVector<Value> next;
  for (WriteOp write : writes)
    next.push_back(inputs.find(write.getValue()));
  next.push_back(Expr(inside, at, micro) + 1.0);
  Value loss = addTerms(inside, inverses);
  for (auto [result, sum] : llvm::zip_equal(numbers, sums)) {
    bool isLoss = result->getOperandNumber() == 0;
    Expr one(inside, sum.getLoc(), isLoss ? loss : inputs.find(result->get()));
    bool isLargest = isRole(result->getOperandNumber(), GRADC_ROLE_INDICES);
    next.push_back(isLargest ? one.with(sum).apply<MaxOp>(one) : one.with(sum) + one);
  }
  SmallVector<Value> targets =
      llvm::map_to_vector(parameters, [&](Value v) { return inputs.find(v); });
  llvm::append_range(targets, reads.values);
  Value scale = gradc::argumentOfRole(function, GRADC_ROLE_LOSS_SCALE);
  SmallVector<Value> found =
      gradc::requestGradients(inside, loss, targets, scale ? inputs.find(scale) : Value());
  for (auto [sum, gradient] : llvm::zip_first(gradients, found))
    next.push_back(Expr(inside, at, sum) +
                   Expr(inside, at, gradient).cast(getElementTypeOrSelf(sum)));
  llvm::append_range(next, ArrayRef(found).drop_front(gradients.size()));
  for (Value rows : reads.rows)
    next.push_back(inputs.find(rows));
  for (OpOperand *result : samples)
    next.push_back(inputs.find(result->get()));
  return next;
}

/// Makes the scan's results the new states and results of the function.
void Accumulation::takeResults(ScanOp scan) {
  Location at = function.getLoc();
  for (auto [write, last] : llvm::zip(writes, scan.getResults())) {
    write.getValueMutable().assign(last);
    write->moveBefore(exit);
  }
  for (auto [i, result] : llvm::enumerate(numbers)) {
    Expr sum(b, at, scan.getResult(writes.size() + 1 + i));
    bool isMean = isRole(result->getOperandNumber(), GRADC_ROLE_METRIC);
    result->set(isMean ? sum * (1.0 / double(count)) : sum);
  }
  for (auto [result, stack] :
       llvm::zip_equal(samples, scan.getResults().take_back(samples.size()))) {
    result->set(unstack(stack));
  }
  // The loss has been computed from its terms, so they are no results any more.
  for (StringRef role : {gradc::lossNumeratorRole, gradc::lossDenominatorRole})
    gradc::eraseResults(function, role);
  TypeRange types = exit->getOperandTypes();
  function.setType(b.getFunctionType(function.front().getArgumentTypes(), types));
}

SmallVector<Value> Accumulation::run(ArrayRef<Value> parameters, gradc::RowsRead &reads) {
  SmallVector<Operation *> body;
  for (Operation &op : function.front())
    if (!isa<ReadOp, ConstantOp, WriteOp>(op) && &op != exit && !(ranks && ranks->isOwn(&op)))
      body.push_back(&op);
  if (ranks)
    for (auto counted : function.getOps<CountOp>())
      findPerRow(counted);
  widenArguments();
  SmallVector<Value> inverses;
  for (auto [numerator, denominator] :
       llvm::zip_equal(gradc::resultsOfRole(function, gradc::lossNumeratorRole),
                       gradc::resultsOfRole(function, gradc::lossDenominatorRole)))
    inverses.push_back(inverseOf(numerator, denominator));
  takeInputs(parameters);
  numberDraws();
  for (Operation *op : body)
    op->moveBefore(block.get(), block->end());
  inputs.isolate();
  SmallVector<Value> yielded = buildSums(parameters, reads, inverses);
  ScanOperands operands{initial, stacks, llvm::to_vector(inputs.getInvariants())};
  ScanOp scan = buildScan(b, function.getLoc(), count, /*reverse=*/false, operands,
                          std::move(block), yielded);
  takeResults(scan);
  auto stacked = scan.getStackResults().begin();
  for (Value &v : llvm::concat<Value>(reads.values, reads.rows))
    v = *stacked++;
  return llvm::to_vector_of<Value>(scan.getLastCarried().take_back(parameters.size()));
}

Expr gradc::inverseOf(Expr x) {
  return x.compare(ComparePredicate::eq, x.splat(0)).select(x.splat(0), 1 / x);
}

void gradc::addLossTerm(func::FuncOp function, Value term) {
  OpBuilder b(function.front().getTerminator());
  Value one = splat(b, term.getLoc(), cast<RankedTensorType>(term.getType()), 1);
  addResult(function, term, lossNumeratorRole, lossNumeratorRole);
  addResult(function, one, lossDenominatorRole, lossDenominatorRole);
}

SmallVector<Value> gradc::requestGradients(OpBuilder &b, Value loss, ValueRange targets,
                                           Value scale) {
  if (targets.empty())
    return {};
  Expr objective(b, loss.getLoc(), loss);
  if (scale)
    objective = objective * objective.with(scale);
  return llvm::to_vector_of<Value>(
      GradientOp::create(b, loss.getLoc(), objective, targets).getResults());
}

FailureOr<SmallVector<Value>> gradc::accumulateGradients(func::FuncOp function,
                                                         ArrayRef<Value> parameters,
                                                         RowsRead &reads, DataParallel *ranks) {
  auto wanted = function->getAttrOfType<IntegerAttr>(microBatchesName);
  if (!wanted || wanted.getInt() < 1)
    return function.emitError("expected a positive number as ")
           << microBatchesName << ", found " << function->getAttr(microBatchesName);
  if (resultsOfRole(function, lossNumeratorRole).empty())
    return function.emitError("expected results with roles \"")
           << lossNumeratorRole << "\" and \"" << lossDenominatorRole
           << "\" for a step in several parts, found none";
  SmallVector<Value> gradients =
      Accumulation(function, wanted.getInt(), ranks).run(parameters, reads);
  function->removeAttr(microBatchesName);
  function->removeAttr(mostMicroBatchesName);
  function->setAttr(inPartsName, UnitAttr::get(function.getContext()));
  return gradients;
}
