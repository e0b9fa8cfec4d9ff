// The gradient of a scan: a scan in the opposite direction over the values that the forward saved.
#include "dialects/grad/control/Control.h"
#include "dialects/grad/control/RegionGradient.h"

using namespace mlir;
using namespace mlir::grad;

/// Whether a gradient reads the saved result of `op` instead of recomputing it. Ops that cost one
/// instruction per element, or only move elements, are recomputed.
static bool isWorthSaving(Operation &op) {
  if (op.hasTrait<OpTrait::ConstantLike>())
    return false;
  if (auto loops = dyn_cast<LoopsOpInterface>(op);
      loops && (loops.getLoopKind() == LoopKind::movement || loops.getLoopKind() == LoopKind::view))
    return false;
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost && !cost.isCheapToRepeat();
}

/// Whether a scan has more steps than are saved for its gradient.
static bool hasTooManySteps(ScanOp op) {
  return op.getStacks().empty() && int64_t(op.getTrips()) > mostSavedTrips;
}

static bool hasGradient(ScanOp op) { return !op.mayEndEarly() && !hasTooManySteps(op); }

std::string ScanOp::whyNoGradient() {
  if (!hasTooManySteps(*this))
    return "";
  return "reads saved values of each step: give the loop a trip count of at most " +
         std::to_string(mostSavedTrips);
}

/// Whether all carried values at the beginning of a step are saved.
static bool isPrepared(ScanOp op) {
  OperandRange saved = op.getYielded().take_back(op.getSaved());
  return llvm::all_of(op.getCarried(), [&](Value v) { return llvm::is_contained(saved, v); });
}

Operation *ScanOp::prepareGradient(OpBuilder &b) {
  if (!hasGradient(*this))
    return *this;
  for (Operation &inner : llvm::make_early_inc_range(getBlock().without_terminator()))
    if (auto differentiable = dyn_cast<GradientOpInterface>(inner)) {
      OpBuilder inside(&inner);
      differentiable.prepareGradient(inside);
    }
  if (getSaved() > 0 && isPrepared(*this))
    return *this;
  SmallVector<Value> saved(getCarried());
  for (Operation &inner : getBlock().without_terminator())
    if (isWorthSaving(inner))
      llvm::append_range(saved, inner.getResults());
  SmallVector<Type> types(getResultTypes());
  for (Value v : saved)
    types.push_back(stackType(v.getType(), getTrips()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(*this);
  auto scan = ScanOp::create(b, getLoc(), types, getTrips(), getInitial(), getStacks(),
                             getInvariants(), getReverse(), int64_t(saved.size()));
  scan.getBody().takeBody(getBody());
  cast<YieldOp>(scan.getBlock().getTerminator()).getValuesMutable().append(saved);
  replaceAllUsesWith(scan.getResults().take_front(getNumResults()));
  erase();
  return scan;
}

namespace {

/// The scan that runs through another scan's steps in the opposite direction, and carries the
/// gradients of its carried values.
class ScanGradient {
public:
  ScanGradient(OpBuilder &b, ScanOp op, ScanOp forward) : b(b), op(op), forward(forward) {}

  LogicalResult build(ValueRange resultGradients, SmallVectorImpl<Value> &operandGradients) {
    unsigned carriedCount = op.getCarriedCount();
    findWanted();
    for (unsigned i : carried) {
      Value arrived = resultGradients[i];
      operands.initial.push_back(arrived ? arrived : zeroLike(op.getInitial()[i]));
    }
    for (unsigned i : invariants)
      operands.initial.push_back(zeroLike(op.getInvariants()[i]));
    for (unsigned i = carriedCount; i < resultGradients.size(); ++i)
      if (resultGradients[i]) {
        arrivedSteps.push_back(i);
        operands.stacks.push_back(resultGradients[i]);
      }
    saved = forward.getYielded().take_back(forward.getSaved());
    llvm::append_range(operands.stacks, forward.getStackResults().take_back(forward.getSaved()));
    llvm::append_range(operands.stacks, op.getStacks());
    operands.invariants = op.getInvariants();

    bool found = true;
    ScanOp gradient = buildScan(b, op.getLoc(), op.getTrips(), !op.getReverse(), operands,
                                [&](OpBuilder &inside, Block::BlockArgListType arguments) {
                                  SmallVector<Value> yielded;
                                  found = succeeded(buildBody(inside, arguments, yielded));
                                  return yielded;
                                });
    if (!found) {
      gradient.erase();
      return failure();
    }
    RegionGradient::eraseDead(gradient.getBlock());
    unsigned stackCount = op.getStacks().size();
    ValueRange results = gradient.getResults();
    for (auto [n, i] : llvm::enumerate(carried))
      operandGradients[i] = results[n];
    for (auto [n, i] : llvm::enumerate(invariants))
      operandGradients[carriedCount + stackCount + i] = results[carried.size() + n];
    for (auto [n, i] : llvm::enumerate(stacks))
      operandGradients[carriedCount + i] = gradient.getStackResults()[n];
    return success();
  }

private:
  void findWanted() {
    auto note = [](auto values, SmallVector<unsigned> &numbers) {
      for (auto [i, value] : llvm::enumerate(values))
        if (isDifferentiable(value))
          numbers.push_back(i);
    };
    note(op.getInitial(), carried);
    note(op.getStacks(), stacks);
    note(op.getInvariants(), invariants);
  }

  Value zeroLike(Value value) {
    return splat(b, op.getLoc(), cast<RankedTensorType>(value.getType()), 0);
  }

  /// The arguments are gradients of the carried values, and sums of gradients of the invariants;
  /// then steps of result gradients, of saved values, and of the forward's stacks; then invariants.
  LogicalResult buildBody(OpBuilder &inside, Block::BlockArgListType arguments,
                          SmallVectorImpl<Value> &yielded) {
    auto next = [&](size_t count) {
      auto some = arguments.take_front(count);
      arguments = arguments.drop_front(count);
      return some;
    };
    auto carriedGradients = next(carried.size()), sums = next(invariants.size());
    auto arrived = next(arrivedSteps.size()), savedSteps = next(saved.size());

    // The carried values at the beginning of a step are the first saved values.
    SmallVector<Value> forwardArguments;
    for (BlockArgument argument : forward.getCarried())
      forwardArguments.push_back(savedSteps[llvm::find(saved, argument) - saved.begin()]);
    llvm::append_range(forwardArguments, arguments);
    RegionGradient gradient(inside, forward.getBlock(), forwardArguments);
    for (auto [i, value] : llvm::zip_equal(carried, carriedGradients))
      gradient.add(i, value);
    for (auto [i, value] : llvm::zip_equal(arrivedSteps, arrived))
      gradient.add(i, value);
    if (failed(gradient.run()))
      return failure();

    for (unsigned i : carried)
      yielded.push_back(gradient.atOrZero(forward.getCarried()[i]));
    for (auto [i, sum] : llvm::zip_equal(invariants, sums)) {
      Value term = gradient.at(forward.getInvariantArguments()[i]);
      yielded.push_back(term ? inside.createOrFold<AddOp>(op.getLoc(), sum, term) : Value(sum));
    }
    for (unsigned i : stacks)
      yielded.push_back(gradient.atOrZero(forward.getSteps()[i]));
    for (auto [value, step] : llvm::zip_equal(saved, savedSteps))
      gradient.replace(value, step);
    return success();
  }

  OpBuilder &b;
  ScanOp op, forward;
  ScanOperands operands;
  SmallVector<unsigned> carried, stacks, invariants; ///< operands that gradients flow to
  SmallVector<unsigned> arrivedSteps;
  SmallVector<Value> saved; ///< the forward's values
};

} // namespace

LogicalResult ScanOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  if (!hasGradient(*this))
    return failure();
  if (isPrepared(*this))
    return ScanGradient(b, *this, *this).build(resultGradients, operandGradients);
  // `prepareGradient` was not called, so the scan runs again.
  auto again = cast<ScanOp>(b.clone(*getOperation()));
  again = cast<ScanOp>(again.prepareGradient(b));
  LogicalResult built = ScanGradient(b, *this, again).build(resultGradients, operandGradients);
  if (failed(built))
    again.erase();
  return built;
}
