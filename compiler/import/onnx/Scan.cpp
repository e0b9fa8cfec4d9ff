// Scan: a region that is run on every step of its operands.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/Subgraph.h"
#include "dialects/grad/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The same tensor, its steps in reverse order.
static Value reversed(Expr x) {
  int64_t rank = x.type().getRank();
  SmallVector<int64_t> starts(rank, 0), strides(rank, 1);
  starts[0] = std::max<int64_t>(x.shape()[0] - 1, 0);
  strides[0] = -1;
  return SliceOp::create(x.getBuilder(), x.getLoc(), x, starts, x.shape(), strides);
}

/// Dim `from` as dim `to`, the others in their order.
static Expr moveDim(Expr x, int64_t from, int64_t to) {
  SmallVector<int64_t> order = otherDims(x.type().getRank(), {from});
  order.insert(order.begin() + to, from);
  return llvm::is_sorted(order) ? x : x.transpose(order);
}

namespace {

/// A Scan node from operator set 9 on. Operands are carried values, then what is scanned.
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
      if (n.wants(i) && failed(n.set(i, value)))
        return failure();
    }
    return success();
  }

private:
  /// One number an input or output, 0 where the node says nothing.
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
    for (Value v : operands.initial)
      inputs.push_back({block->addArgument(v.getType(), n.loc()), std::nullopt});
    for (Value v : operands.stacks) {
      if (cast<RankedTensorType>(v.getType()).getDimSize(0) != trips)
        return n.error() << "expected scanned operands of one length, found " << trips << " and "
                         << cast<RankedTensorType>(v.getType()).getDimSize(0);
      inputs.push_back({block->addArgument(stepType(v.getType()), n.loc()), std::nullopt});
    }
    auto results = n.getEntry().importSubgraph(graph, *block, inputs, &operands.invariants);
    if (failed(results))
      return failure();
    SmallVector<Value> yielded;
    for (auto [i, result] : llvm::enumerate(*results)) {
      if (result.sequence)
        return n.error() << "result " << i << " of its graph is a sequence";
      if (i < carriedCount && result.tensor.getType() != operands.initial[i].getType())
        return n.error() << "carries " << describe(operands.initial[i].getType())
                         << " at first, then " << describe(result.tensor.getType());
      yielded.push_back(result.tensor);
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
};

} // namespace

static LogicalResult importScan(Node &n) {
  if (n.opset() < 9)
    return n.error()
           << "is not supported in operator set 8, where it runs over a batch; convert the "
              "model to operator set 9 or later";
  auto graph = findGraph(n, "body");
  return failed(graph) ? failure() : ScanImport(n, **graph).run();
}

void gradc::addScanOps(OpTable &ops) { ops["Scan"] = {importScan, 1, OnnxOp::any}; }
