// Makes a function of each stage of a pipeline, with the transfers between them.
#include "passes/Passes.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/training/Transfer.h"
#include "passes/distribution/StageGraph.h"
#include "passes/entry/Functions.h"
#include "passes/training/StepAttributes.h"
#include "runtime/include/gradc/entries.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_CUTSTAGES
#include "passes/Passes.h.inc"

namespace {

/// Replaces a loop over the parts of a batch by one copy of its body per part.
class Unrolling {
public:
  explicit Unrolling(ScanOp scan) : scan(scan), b(scan) {}

  void run() {
    SmallVector<Value> carried(scan.getInitial());
    std::vector<SmallVector<Value>> steps(scan.getStackResults().size());
    for (int64_t i = 0, trips = int64_t(scan.getTrips()); i < trips; ++i) {
      Operation *before = scan->getPrevNode();
      int64_t step = scan.getReverse() ? trips - 1 - i : i;
      IRMapping copies;
      copies.map(scan.getCarried(), carried);
      copies.map(scan.getInvariantArguments(), scan.getInvariants());
      for (auto [argument, stack] : llvm::zip_equal(scan.getSteps(), scan.getStacks()))
        copies.map(argument, stepOf(stack, step));
      for (Operation &op : scan.getBlock().without_terminator())
        b.clone(op, copies);
      auto copyOf = [&](Value v) { return copies.lookupOrDefault(v); };
      carried = llvm::map_to_vector(scan.getNextCarried(), copyOf);
      for (auto [all, v] : llvm::zip_equal(steps, scan.getYieldedSteps()))
        all.insert(scan.getReverse() ? all.begin() : all.end(), stepped(copyOf(v)));
      for (Operation *op = before ? before->getNextNode() : &scan->getBlock()->front(); op != scan;
           op = op->getNextNode())
        op->setAttr(partName, b.getI64IntegerAttr(i));
    }
    SmallVector<Value> results = carried;
    for (auto &all : steps)
      results.push_back(ConcatenateOp::create(b, scan.getLoc(), all, /*dim=*/0));
    scan.replaceAllUsesWith(results);
    scan.erase();
  }

private:
  Value stepOf(Value stack, int64_t step) {
    auto type = cast<RankedTensorType>(stack.getType());
    SmallVector<int64_t> starts(type.getRank()), sizes(type.getShape()), strides(type.getRank(), 1);
    starts[0] = step;
    sizes[0] = 1;
    Value slice = SliceOp::create(b, scan.getLoc(), stack, starts, sizes, strides);
    return Expr(b, scan.getLoc(), slice).reshape(type.getShape().drop_front());
  }

  /// As one step of a stack.
  Value stepped(Value v) {
    SmallVector<int64_t> shape(cast<RankedTensorType>(v.getType()).getShape());
    shape.insert(shape.begin(), 1);
    return Expr(b, scan.getLoc(), v).reshape(shape);
  }

  ScanOp scan;
  OpBuilder b;
};

/// Whether an op, or one in its regions, has a stage.
bool hasStages(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return inner->hasAttr(stageName) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void forgetStages(Operation *op) {
  op->walk([](Operation *inner) {
    for (StringRef name : {StringRef(stageName), StringRef(backwardName), StringRef(partName)})
      inner->removeAttr(name);
  });
}

/// Writes the function of one stage.
class StageWriter {
public:
  StageWriter(func::FuncOp unrolled, func::FuncOp function, const StageGraph &graph,
              const ExtentAnalysis &extents, int64_t stage)
      : unrolled(unrolled), function(function), graph(graph), extents(extents), stage(stage),
        b(OpBuilder::atBlockEnd(function.addEntryBlock())) {}

  void run() {
    copies.map(unrolled.getArguments(), function.getArguments());
    for (auto [number, transfer] : llvm::enumerate(graph.getTransfers())) {
      if (transfer.to == stage)
        incoming[transfer.value] = number;
      if (transfer.from == stage)
        outgoing[transfer.value].push_back(number);
    }
    for (Operation &op : unrolled.front()) {
      bool isExit = op.hasTrait<OpTrait::IsTerminator>();
      if (!isExit && !graph.runs(stage, &op))
        continue;
      for (Value operand : op.getOperands())
        receive(operand);
      b.clone(op, copies);
      own.push_back(&op);
      for (Value result : op.getResults())
        send(result);
    }
  }

private:
  void receive(Value v) {
    if (copies.contains(v))
      return;
    size_t number = incoming.at(v);
    const Transfer &transfer = graph.getTransfers()[number];
    llvm::SetVector<Value> after;
    for (size_t other : sent)
      if (graph.mayDepend(transfer, graph.getTransfers()[other]))
        after.insert(copies.lookup(graph.getTransfers()[other].value));
    // Gradients are added up part by part. Otherwise one kernel would add those of all parts.
    for (Operation *op : own)
      if (graph.isCarriedTo(transfer, op))
        for (Value result : op->getResults())
          after.insert(copies.lookup(result));
    auto op = ReceiveOp::create(b, v.getLoc(), v.getType(), after.getArrayRef(), transfer.from,
                                number, transfer.receiveTurn, extentsOf(v));
    copies.map(v, op.getResult());
  }

  /// None: all dims are whole.
  DenseI64ArrayAttr extentsOf(Value v) {
    const Extents *known = extents.find(v);
    bool isWhole = !known || llvm::all_of(*known, [](int64_t e) { return e == extent::whole; });
    return isWhole ? nullptr : b.getDenseI64ArrayAttr(extents.of(v).front());
  }

  void send(Value v) {
    for (size_t number : outgoing[v]) {
      const Transfer &transfer = graph.getTransfers()[number];
      SendOp::create(b, v.getLoc(), copies.lookup(v), transfer.to, number, transfer.sendTurn,
                     extentsOf(v));
      sent.push_back(number);
    }
  }

  func::FuncOp unrolled, function;
  const StageGraph &graph;
  const ExtentAnalysis &extents;
  int64_t stage;
  OpBuilder b;
  IRMapping copies;
  llvm::DenseMap<Value, size_t> incoming;              ///< numbers of transfers
  llvm::DenseMap<Value, SmallVector<size_t>> outgoing; ///< the same, one per receiver
  SmallVector<size_t> sent;
  SmallVector<Operation *> own; ///< ops written so far
};

struct CutStages : impl::CutStagesBase<CutStages> {
  void runOnOperation() override {
    for (auto function : llvm::to_vector(functionsOf(getOperation())))
      if (auto stages = function->getAttrOfType<IntegerAttr>(stagesName)) {
        function->removeAttr(stagesName);
        if (failed(cut(function, stages.getInt())))
          return signalPassFailure();
        forgetStages(function);
      }
  }

private:
  LogicalResult cut(func::FuncOp function, int64_t stages) {
    func::FuncOp unrolled = function.clone();
    getOperation().push_back(unrolled); // states are looked up from it
    unrolled.setSymName((function.getSymName() + ".unrolled").str());
    int64_t parts = 1;
    for (auto scan : llvm::make_early_inc_range(unrolled.getOps<ScanOp>()))
      if (hasStages(scan)) {
        parts = int64_t(scan.getTrips());
        Unrolling(scan).run();
      }
    ExtentAnalysis extents = extentsOfStep(unrolled);
    StageGraph graph(unrolled, stages, parts);
    LogicalResult placed = graph.run();
    OpBuilder b(function);
    b.setInsertionPointAfter(function);
    for (int64_t stage = 0; succeeded(placed) && stage < stages; ++stage) {
      auto own = cast<func::FuncOp>(b.insert(function->cloneWithoutRegions()));
      own.setSymName((function.getSymName() + GRADC_STAGE_INFIX + Twine(stage)).str());
      own->setAttr(ownStageName, b.getI64IntegerAttr(stage));
      StageWriter(unrolled, own, graph, extents, stage).run();
      forgetStages(own);
    }
    unrolled.erase();
    return placed;
  }
};

} // namespace
} // namespace gradc
