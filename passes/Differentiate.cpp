// Replaces every grad.gradient by the backward ops of its objective. Removes the barriers that kept
// its targets.
#include "passes/Passes.h"

#include "dialects/grad/Backward.h"
#include "dialects/grad/Build.h"
#include "passes/entry/Functions.h"
#include "passes/training/Reach.h"

namespace gradc {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

namespace {

struct Differentiate : gradc::impl::DifferentiateBase<Differentiate> {
  void runOnOperation() override;

private:
  /// Replaces all requests of one objective at the first of them.
  void answer(MutableArrayRef<GradientOp> requests);
  void report(Operation *op, ValueRange targets);

  /// By node: an entry and its twins, such as that for a smaller last batch, have the same ops.
  DenseSet<std::pair<Location, OperationName>> reported;
};

} // namespace

/// The first request of a function in execution order, and the later ones of its objective. An
/// inner request of a nest comes before the outer one, which uses its results.
static SmallVector<GradientOp> nextRequests(func::FuncOp function) {
  SmallVector<GradientOp> requests;
  function.walk([&](GradientOp request) {
    if (requests.empty() || (request.getObjective() == requests[0].getObjective() &&
                             request->getBlock() == requests[0]->getBlock()))
      requests.push_back(request);
  });
  return requests;
}

void Differentiate::runOnOperation() {
  reported.clear();
  for (auto function : gradc::functionsOf(getOperation()))
    while (true) {
      SmallVector<GradientOp> requests = nextRequests(function);
      if (requests.empty())
        break;
      answer(requests);
    }
  getOperation().walk([](OptimizationBarrierOp barrier) {
    barrier.replaceAllUsesWith(barrier.getOperand());
    barrier.erase();
  });
  if (!reported.empty())
    signalPassFailure();
}

void Differentiate::report(Operation *op, ValueRange targets) {
  if (!reported.insert({op->getLoc(), op->getName()}).second)
    return;
  InFlightDiagnostic error = op->emitOpError("has no gradient");
  std::string reason; // of the op, or of one in its regions
  op->walk([&](GradientOpInterface inner) {
    if (reason.empty())
      reason = inner.whyNoGradient();
  });
  if (!reason.empty())
    error << ", which " << reason;
  DenseSet<Value> sources(op->operand_begin(), op->operand_end());
  for (Value operand : op->getOperands())
    for (Operation *producer : producersOf(operand))
      sources.insert(producer->operand_begin(), producer->operand_end());
  for (Value target : targets)
    if (sources.contains(target)) {
      error.attachNote(target.getLoc())
          << "needed for the gradient with respect to " << gradc::describeValue(target);
      return;
    }
}

/// The gradient with respect to a target that the objective does not depend on.
static Value zero(OpBuilder &b, Location location, Value target) {
  auto type = cast<RankedTensorType>(target.getType());
  if (type.getRank() == 0 || !mayHoldBatch(b, type, ArrayRef<int64_t>{0}))
    return splat(b, location, type, 0);
  return zerosWithRowsOf(Expr(b, location, target));
}

void Differentiate::answer(MutableArrayRef<GradientOp> requests) {
  for (Operation *op : producersOf(requests[0].getObjective()))
    if (auto differentiable = dyn_cast<GradientOpInterface>(op)) {
      OpBuilder b(op);
      differentiable.prepareGradient(b);
    }
  Value objective = requests[0].getObjective();
  SetVector<Value> targets;
  for (GradientOp request : requests)
    targets.insert(request.getTargets().begin(), request.getTargets().end());

  OpBuilder b(requests[0]);
  Operation *before = requests[0]->getPrevNode();
  Backward backward;
  auto type = cast<RankedTensorType>(objective.getType());
  backward.add(b, objective, splat(b, requests[0].getLoc(), type, 1));
  backward.run(b, producersOf(objective), targets.getArrayRef());
  for (Operation *op : backward.getMissing())
    report(op, targets.getArrayRef());

  SmallVector<Operation *> built;
  for (Operation *op = before ? before->getNextNode() : &requests[0]->getBlock()->front();
       op != requests[0]; op = op->getNextNode())
    built.push_back(op);
  for (GradientOp request : requests) {
    b.setInsertionPoint(request);
    for (auto [result, target] : llvm::zip_equal(request.getResults(), request.getTargets())) {
      Value gradient = backward.lookup(target);
      if (!gradient)
        gradient = zero(b, request.getLoc(), target);
      result.replaceAllUsesWith(gradient);
    }
    request.erase();
  }
  // The gradients of all operands of an op are built; erase those that are not used.
  for (Operation *op : llvm::reverse(built))
    if (isOpTriviallyDead(op))
      op->erase();
}
