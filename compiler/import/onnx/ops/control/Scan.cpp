// Scan: a region that runs on each step of its operands.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/Subgraph.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The tensor with its steps along `dim` in reverse order.
static Value reversed(Expr x, int64_t dim = 0) {
  int64_t rank = x.type().getRank();
  SmallVector<int64_t> starts(rank, 0), strides(rank, 1);
  starts[dim] = std::max<int64_t>(x.shape()[dim] - 1, 0);
  strides[dim] = -1;
  return SliceOp::create(x.getBuilder(), x.getLoc(), x, starts, x.shape(), strides);
}

/// Moves dim `from` to position `to`; the other dims keep their order.
static Expr moveDim(Expr x, int64_t from, int64_t to) {
  SmallVector<int64_t> order = otherDims(x.type().getRank(), {from});
  order.insert(order.begin() + to, from);
  return llvm::is_sorted(order) ? x : x.transpose(order);
}

/// Checks a result of the graph: the first `carriedCount` have the types of its inputs.
static LogicalResult expectStep(Node &n, ArrayRef<GraphValue> inputs, unsigned carriedCount,
                                unsigned i, const GraphValue &result) {
  if (result.sequence)
    return n.error() << "result " << i << " of its graph is a sequence";
  if (i < carriedCount && !result.hasTypeOf(inputs[i]))
    return n.error() << "carries " << inputs[i].describe() << " at first, then "
                     << result.describe();
  return success();
}

namespace {

/// A Scan node from opset 9 on. Its operands are carried values, then scanned ones.
class ScanImport {
public:
  ScanImport(Node &n, const onnx::GraphProto &graph) : n(n), graph(graph) {}

  LogicalResult run() {
    int64_t inputs = n.integer("num_scan_inputs", 0);
    if (inputs < 1 || inputs > int64_t(n.operandCount()))
      return n.error() << "expected num_scan_inputs from 1 to " << n.operandCount() << ", found "
                       << inputs;
    carriedCount = n.operandCount() - unsigned(inputs);
    if (failed(expectCounts(n, graph, int(n.operandCount()), int(n.resultCount()))))
      return failure();
    if (failed(expectNothingRandom(n, graph)))
      return failure();
    if (failed(expectCarriedResults(n, carriedCount)))
      return failure();
    for (unsigned i = 0; i < n.operandCount(); ++i)
      if (!n.operand(i))
        return n.error() << "operand " << i << " is missing";
    unsigned outputs = n.resultCount() - carriedCount;
    auto inputAxes = list("scan_input_axes", unsigned(inputs)),
         inputDirections = list("scan_input_directions", unsigned(inputs)),
         outputAxes = list("scan_output_axes", outputs),
         outputDirections = list("scan_output_directions", outputs);
    if (failed(inputAxes) || failed(inputDirections) || failed(outputAxes) ||
        failed(outputDirections))
      return failure();
    for (int64_t direction : llvm::concat<int64_t>(*inputDirections, *outputDirections))
      if (direction != 0 && direction != 1)
        return n.error() << "expected directions 0 or 1, found " << direction;
    bool isReverse = inputDirections->front();
    ScanOperands operands;
    for (unsigned i = 0; i < carriedCount; ++i)
      operands.initial.push_back(n.operand(i));
    for (unsigned i = 0; i < inputs; ++i) {
      auto axis = n.axis((*inputAxes)[i], n.rank(carriedCount + i));
      if (failed(axis))
        return failure();
      Expr stack = moveDim(n.expr(carriedCount + i), *axis, 0);
      operands.stacks.push_back((*inputDirections)[i] == isReverse ? stack.get() : reversed(stack));
    }
    auto scan = build(operands, isReverse);
    if (failed(scan))
      return failure();
    for (auto [i, result] : llvm::enumerate((*scan).getResults().take_front(n.resultCount()))) {
      Value value = result;
      if (i >= carriedCount) {
        Expr stack = n.expr(result);
        if ((*outputDirections)[i - carriedCount] != isReverse)
          stack = stack.with(reversed(stack));
        auto axis = n.axis((*outputAxes)[i - carriedCount], stack.type().getRank());
        if (failed(axis))
          return failure();
        value = moveDim(stack, 0, *axis);
      }
      if (n.wants(i) && failed(n.setNarrow(unsigned(i), value, narrows[i])))
        return failure();
    }
    return success();
  }

private:
  /// One number per input or output; 0 if the node has no list.
  FailureOr<SmallVector<int64_t>> list(StringRef name, unsigned size) {
    auto given = n.integers(name);
    if (!given)
      return SmallVector<int64_t>(size, 0);
    if (given->size() != size)
      return n.error() << "expected " << size << " numbers in " << name << ", found "
                       << formatDims(*given);
    return *given;
  }

  FailureOr<ScanOp> build(ScanOperands &operands, bool isReverse) {
    int64_t trips = cast<RankedTensorType>(operands.stacks[0].getType()).getDimSize(0);
    auto block = std::make_unique<Block>();
    SmallVector<GraphValue> inputs;
    auto addInput = [&](Type type) {
      inputs.push_back(
          {block->addArgument(type, n.loc()), std::nullopt, n.narrow(unsigned(inputs.size()))});
    };
    for (Value v : operands.initial)
      addInput(v.getType());
    for (Value v : operands.stacks) {
      if (cast<RankedTensorType>(v.getType()).getDimSize(0) != trips)
        return n.error() << "expected scanned operands of one length, found " << trips << " and "
                         << cast<RankedTensorType>(v.getType()).getDimSize(0);
      addInput(stepType(v.getType()));
    }
    auto results = n.getEntry().importSubgraph(graph, *block, inputs, &operands.invariants);
    if (failed(results))
      return failure();
    SmallVector<Value> yielded;
    for (auto [i, result] : llvm::enumerate(*results)) {
      if (failed(expectStep(n, inputs, carriedCount, unsigned(i), result)))
        return failure();
      yielded.push_back(result.tensor);
      narrows.push_back(result.narrow);
    }
    SmallVector<Value> checks = n.getEntry().indexChecksIn(*block);
    llvm::append_range(yielded, checks);
    auto scan =
        buildScan(n.builder(), n.loc(), trips, isReverse, operands, std::move(block), yielded);
    handOnIndexChecks(n, checks, scan.getResults().take_back(checks.size()));
    return scan;
  }

  Node &n;
  const onnx::GraphProto &graph;
  unsigned carriedCount = 0;
  SmallVector<const NarrowType *> narrows; ///< of the results of its graph
};

} // namespace

namespace {

/// A Scan node of opset 8, which runs over each row of a batch: a scan over rows, whose step is the
/// scan over the steps of one row. Operand 0 holds the rows' lengths. Past a row's length, carried
/// values stay and stacked values are 0.
class RowScanImport {
public:
  RowScanImport(Node &n, const onnx::GraphProto &graph) : n(n), graph(graph) {}

  LogicalResult run() {
    int64_t scanned = n.integer("num_scan_inputs", 0), inputs = int64_t(n.operandCount()) - 1;
    if (scanned < 1 || scanned > inputs)
      return n.error() << "expected num_scan_inputs from 1 to " << inputs << ", found " << scanned;
    carriedCount = unsigned(inputs - scanned);
    auto directions = n.integers("directions").value_or(SmallVector<int64_t>(scanned, 0));
    if (int64_t(directions.size()) != scanned ||
        llvm::any_of(directions, [](int64_t d) { return d != 0 && d != 1; }))
      return n.error() << "expected " << scanned << " directions of 0 or 1, found "
                       << formatDims(directions);
    if (failed(expectCounts(n, graph, int(inputs), int(n.resultCount()))) ||
        failed(expectNothingRandom(n, graph)) || failed(expectCarriedResults(n, carriedCount)) ||
        failed(expectRows()))
      return failure();
    bool isReverse = directions.front();
    if (n.operand(0) && llvm::is_contained(directions, 1))
      return n.error() << "expected steps in order with lengths of rows, found directions "
                       << formatDims(directions);
    ScanOperands operands;
    for (unsigned i = 0; i < unsigned(inputs); ++i) {
      Value value = n.operand(i + 1);
      if (i >= carriedCount && (directions[i - carriedCount] != 0) != isReverse)
        value = reversed(n.expr(value), /*dim=*/1);
      operands.stacks.push_back(value);
    }
    if (n.operand(0))
      operands.stacks.push_back(n.expr(0u).cast(n.builder().getI64Type()));
    return build(operands, isReverse);
  }

private:
  LogicalResult expectRows() {
    for (unsigned i = 1; i < n.operandCount(); ++i) {
      if (!n.operand(i))
        return n.error() << "operand " << i << " is missing";
      unsigned least = i > carriedCount ? 2 : 1;
      if (n.rank(i) < least)
        return n.error() << "expected rank " << least << " or more, found " << n.describeOperand(i);
      rows = i == 1 ? n.shape(i)[0] : rows;
      trips = i == carriedCount + 1 ? n.shape(i)[1] : trips;
      if (n.shape(i)[0] != rows || (i > carriedCount && n.shape(i)[1] != trips))
        return n.error() << "expected operands of as many rows and steps, found "
                         << n.describeOperand(1) << " and " << n.describeOperand(i);
    }
    if (n.operand(0) &&
        (failed(n.expect(0, Kind::Int)) || n.narrow(0) || n.shape(0) != ArrayRef<int64_t>{rows}))
      return n.error() << "expected a length for each of " << rows << " rows, found "
                       << n.describeOperand(0);
    return success();
  }

  /// The block of one step: a counter, the graph's inputs, then captured values.
  LogicalResult buildStep() {
    step = std::make_unique<Block>();
    OpBuilder &b = n.builder();
    counter = step->addArgument(RankedTensorType::get({}, b.getI64Type()), n.loc());
    SmallVector<GraphValue> inputs;
    for (unsigned i = 1; i < n.operandCount(); ++i) {
      Type type = stepType(n.type(i));
      type = i > carriedCount ? stepType(type) : type;
      inputs.push_back({step->addArgument(type, n.loc()), std::nullopt, n.narrow(i)});
    }
    auto results = n.getEntry().importSubgraph(graph, *step, inputs, &captured);
    if (failed(results))
      return failure();
    for (auto [i, result] : llvm::enumerate(*results)) {
      if (failed(expectStep(n, inputs, carriedCount, unsigned(i), result)))
        return failure();
      yielded.push_back(result.tensor);
      narrows.push_back(result.narrow);
    }
    checks = n.getEntry().indexChecksIn(*step);
    OpBuilder inside(b.getContext());
    inside.setInsertionPointToEnd(step.get());
    if (n.operand(0))
      stopBehindLength(inside);
    yielded.insert(yielded.begin(), Expr(inside, n.loc(), counter) + 1.0);
    llvm::append_range(yielded, checks);
    return success();
  }

  void stopBehindLength(OpBuilder &inside) {
    Value length = step->addArgument(counter.getType(), n.loc());
    Expr isInside = Expr(inside, n.loc(), counter).compare(ComparePredicate::lt, length);
    for (auto [i, value] : llvm::enumerate(yielded)) {
      Expr x(inside, n.loc(), value);
      Expr condition = isInside.broadcastScalar(x.type().clone(inside.getI1Type()));
      value = condition.select(x, i < carriedCount ? Value(step->getArgument(unsigned(i) + 1))
                                                   : Value(x.splat(0)));
    }
  }

  LogicalResult build(ScanOperands &operands, bool isReverse) {
    if (failed(buildStep()))
      return failure();
    operands.invariants = captured;
    auto overRows = buildScan(
        n.builder(), n.loc(), rows, /*reverse=*/false, operands,
        [&](OpBuilder &body, Block::BlockArgListType arguments) {
          unsigned given = n.operandCount() - 1;
          ScanOperands own{
              .initial = {splat(body, n.loc(), cast<RankedTensorType>(counter.getType()), 0)}};
          llvm::append_range(own.initial, arguments.take_front(carriedCount));
          llvm::append_range(own.stacks, arguments.slice(carriedCount, given - carriedCount));
          llvm::append_range(own.invariants, arguments.take_back(captured.size()));
          if (n.operand(0))
            own.invariants.push_back(arguments[given]);
          auto overSteps =
              buildScan(body, n.loc(), trips, isReverse, own, std::move(step), yielded);
          SmallVector<Value> results(overSteps.getResults().drop_front());
          for (Value &stack : MutableArrayRef(results).take_back(checks.size()))
            stack = trips ? body.createOrFold<ReduceMaxOp>(n.loc(), stack, ArrayRef<int64_t>{0})
                          : splat(body, n.loc(), stepType(stack.getType()), 0);
          return results;
        });
    handOnIndexChecks(n, checks, overRows.getResults().take_back(checks.size()));
    for (auto [i, result] : llvm::enumerate(overRows.getResults().drop_back(checks.size()))) {
      // Stacked outputs are in the order of iterations.
      Value value = i >= carriedCount && isReverse ? reversed(n.expr(result), 1) : Value(result);
      if (n.wants(unsigned(i)) && failed(n.setNarrow(unsigned(i), value, narrows[i])))
        return failure();
    }
    return success();
  }

  Node &n;
  const onnx::GraphProto &graph;
  unsigned carriedCount = 0;
  int64_t rows = 0, trips = 0;
  std::unique_ptr<Block> step;
  BlockArgument counter;
  SmallVector<Value> captured, yielded, checks;
  SmallVector<const NarrowType *> narrows; ///< of the results of its graph
};

} // namespace

static LogicalResult importScan(Node &n) {
  auto graph = findGraph(n, "body");
  if (failed(graph))
    return failure();
  if (n.opset() < 9)
    return RowScanImport(n, **graph).run();
  return ScanImport(n, **graph).run();
}

void gradc::addScanOps(OpTable &ops) {
  ops["Scan"] = {importScan, 0, OnnxOp::any};
  takeNarrow(ops, TakesNarrow::itself, {"Scan"});
}
