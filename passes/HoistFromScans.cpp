// Moves ops out of loops if the recurrence does not need them: products over all steps before and
// after the loop, and sums over steps that no step reads.
#include "dialects/grad/Build.h"
#include "dialects/grad/control/Control.h"
#include "dialects/grad/control/OverSteps.h"
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/graph/ScanEdit.h"
#include "passes/training/StepAttributes.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_HOISTFROMSCANS
#include "passes/Passes.h.inc"

namespace {

/// Max bytes of a sum that stays in cache between steps, and min rows of a step that hide the time
/// of reading and writing it.
constexpr int64_t maxCachedSum = 1 << 20, minRowsOfStep = 32;

int64_t elementsOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

/// Constants and similar ops, which are rematerialized wherever they are needed.
bool isFree(Operation *op) { return op->getNumOperands() == 0; }

bool isContraction(Operation *op) { return isa_and_nonnull<ContractionOpInterface>(op); }

/// A carried value to which each step only adds contractions.
struct CarriedSum {
  unsigned carried;
  SmallVector<Operation *> terms;
};

/// The ops that leave a scan, in the order of its region.
struct Plan {
  llvm::SetVector<Operation *> before, behind;
  SmallVector<CarriedSum> sums;

  bool isEmpty() const { return before.empty() && behind.empty() && sums.empty(); }
};

/// Chooses the ops that leave a scan.
class Planner {
public:
  explicit Planner(ScanOp scan) : scan(scan), changes(scan) {}

  Plan run(bool onlyInvariants) {
    planBefore(onlyInvariants);
    if (!onlyInvariants) {
      planBehind();
      planSums();
    }
    return std::move(plan);
  }

private:
  auto body() { return scan.getBlock().without_terminator(); }

  /// Whether an invariant op is worth an operand of its own; ops that only repeat elements are not.
  static bool isWorthKeeping(Operation &op) {
    int64_t largest = 0;
    for (Value operand : op.getOperands())
      largest = std::max(largest, elementsOf(operand));
    return isContraction(&op) || op.getNumRegions() > 0 ||
           llvm::all_of(op.getResults(), [&](Value v) { return elementsOf(v) <= largest; });
  }

  /// Whether the op is a product of a changing with an invariant operand: one product then computes
  /// all steps.
  bool isSharedProduct(Operation *op) const {
    return isContraction(op) && changes.changing(op).count() == 1 &&
           canRunOverSteps(op, changes.changing(op));
  }

  /// Whether the op is the epilogue of a product that leaves: its stack replaces the product's.
  bool followsProduct(Operation &op) const {
    bool follows = false;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      bool leaves = producer && plan.before.contains(producer);
      if (leaves && changes.of(operand) == Change::byStep)
        follows |= operand.hasOneUse();
      else if (!leaves && producer && changes.of(operand) != Change::never)
        return false;
    }
    return follows && op.hasTrait<grad::Pointwise>();
  }

  void takeWithProducers(Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp();
          producer && !isFree(producer) && !plan.before.contains(producer))
        takeWithProducers(producer);
    plan.before.insert(op);
  }

  void planBefore(bool onlyInvariants) {
    for (Operation &op : body()) {
      Change change = changes.of(&op);
      if (isFree(&op) || plan.before.contains(&op))
        continue;
      bool moves = change == Change::never ? isWorthKeeping(op)
                                           : change == Change::byStep && !onlyInvariants &&
                                                 (isSharedProduct(&op) || followsProduct(op));
      if (moves)
        takeWithProducers(&op);
    }
  }

  /// Whether the op's results are only read by ops of `readers` or yielded as steps of stacks.
  bool isReadBehind(Operation &op, const llvm::DenseSet<Operation *> &readers) {
    return llvm::all_of(op.getUses(), [&](OpOperand &use) {
      if (use.getOwner() == scan.getBlock().getTerminator())
        return use.getOperandNumber() >= scan.getCarriedCount();
      return readers.contains(use.getOwner());
    });
  }

  void planBehind() {
    llvm::DenseSet<Operation *> readers;
    for (Operation &op : llvm::reverse(body()))
      if (changes.of(&op) != Change::never && isPure(&op) && op.getNumRegions() == 0 &&
          !plan.before.contains(&op) && canRunOverSteps(&op, changes.changing(&op)) &&
          isReadBehind(op, readers))
        readers.insert(&op);
    for (Operation &op : body()) {
      if (!readers.contains(&op))
        continue;
      bool follows = llvm::any_of(op.getOperands(), [&](Value v) {
        return v.getDefiningOp() && plan.behind.contains(v.getDefiningOp());
      });
      if (follows || isSharedProduct(&op))
        plan.behind.insert(&op);
    }
  }

  /// Whether the sum over all steps of the product is itself one product: both operands change, and
  /// there is no window.
  bool isTerm(Operation *op) const {
    if (!isContraction(op) || !op->hasOneUse())
      return false;
    ContractionLetters letters = cast<ContractionOpInterface>(op).getLetters();
    // Sums of 16-bit floats may overflow in another order.
    return isa<Float32Type, Float64Type>(getElementTypeOrSelf(op->getResult(0).getType())) &&
           changes.changing(op).all() && !letters.window;
  }

  /// The terms of a tree of additions that contains `argument` once. Names the op, because the
  /// distributive law is about sums and products.
  bool collectTerms(Value value, BlockArgument argument, bool &hasArgument,
                    SmallVectorImpl<Operation *> &terms) const {
    if (value == argument)
      return !std::exchange(hasArgument, true);
    if (auto sum = value.getDefiningOp<AddOp>(); sum && sum->hasOneUse())
      return collectTerms(sum.getLhs(), argument, hasArgument, terms) &&
             collectTerms(sum.getRhs(), argument, hasArgument, terms);
    if (!isTerm(value.getDefiningOp()))
      return false;
    terms.push_back(value.getDefiningOp());
    return true;
  }

  void planSums() {
    for (auto [i, next] : llvm::enumerate(scan.getNextCarried())) {
      CarriedSum sum{unsigned(i), {}};
      bool hasArgument = false;
      BlockArgument argument = scan.getCarried()[i];
      if (argument.hasOneUse() && collectTerms(next, argument, hasArgument, sum.terms) &&
          hasArgument && !sum.terms.empty() && paysStacks(sum))
        plan.sums.push_back(sum);
    }
  }

  /// Whether stacking the terms' operands costs no more than adding the terms in each step, which
  /// reads and writes the sum. If the sum stays in cache and steps have enough rows, the loop is as
  /// fast.
  bool paysStacks(const CarriedSum &sum) {
    int64_t stacked = 0, rows = 0, bytes = bytesOf(scan.getInitial()[sum.carried]);
    for (Operation *term : sum.terms) {
      int64_t elements = std::max<int64_t>(elementsOf(term->getResult(0)), 1);
      rows += cast<CostOpInterface>(term).getFlops() / 2 / elements;
      for (Value operand : term->getOperands())
        if (!findStack(scan, operand))
          stacked += bytesOf(operand);
    }
    bool isFast = rows >= minRowsOfStep && bytes <= maxCachedSum;
    return stacked <= 2 * bytes && !isFast;
  }

  ScanOp scan;
  Changes changes;
  Plan plan;
};

/// Moves the ops of a plan.
class Mover {
public:
  Mover(ScanOp scan, const Plan &plan) : scan(scan), plan(plan), changes(scan), b(scan) {}

  void run() {
    for (Operation *op : plan.before)
      build(op);
    replaceInRegion();
    SmallVector<Value> crossing = findCrossing().takeVector();
    if (!crossing.empty())
      scan = addResults(scan, crossing);
    b.setInsertionPointAfter(scan);
    for (Operation *op : plan.behind)
      build(op);
    for (const CarriedSum &sum : plan.sums)
      replaceSum(sum);
    replaceStacks();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(scan.getBlock())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  /// Bytes of the stacks that the plan adds.
  int64_t stackBytes() {
    int64_t step = 0;
    for (Value v : findCrossing())
      step += bytesOf(v);
    for (Operation *op : llvm::concat<Operation *const>(plan.before, plan.behind))
      if (changes.of(op) != Change::never && isContraction(op))
        step += bytesOf(op->getResult(0));
    return step * scan.getTrips();
  }

private:
  /// The counterpart outside the scan of a value of the region: the stack of all steps, or the
  /// invariant value.
  Value outside(Value value) {
    if (Value known = mapped.lookup(value))
      return known;
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getArgNumber() >= scan.getCarriedCount())
      return scan->getOperand(argument.getArgNumber());
    // A value that never changes may be a stack, too, but its readers take it as it is.
    if (changes.of(value) != Change::never)
      if (Value stack = findStack(scan, value))
        return stack;
    build(value.getDefiningOp());
    return mapped.lookup(value);
  }

  /// Builds an op of the region outside the scan, together with the invariants that it needs.
  void build(Operation *op) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(outside(operand));
    ValueRange results;
    SmallVector<Value> stacks;
    if (changes.of(op) == Change::never) {
      Operation *copy = b.clone(*op);
      copy->setOperands(operands);
      results = copy->getResults();
    } else {
      stacks = buildOverSteps(b, op, operands, changes.changing(op), scan.getTrips());
      results = stacks;
    }
    for (auto [inside, result] : llvm::zip_equal(op->getResults(), results))
      mapped[inside] = result;
  }

  /// Passes values that were moved before the scan to the remaining ops that need them, as
  /// operands.
  void replaceInRegion() {
    for (Operation *op : plan.before)
      for (Value inside : op->getResults()) {
        auto stays = [&](OpOperand &use) { return !plan.before.contains(use.getOwner()); };
        if (llvm::none_of(inside.getUses(), stays))
          continue;
        Value whole = mapped[inside];
        BlockArgument argument =
            changes.of(inside) == Change::never ? addInvariant(scan, whole) : addStack(scan, whole);
        changes.set(argument, changes.of(inside));
        inside.replaceUsesWithIf(argument, stays);
      }
  }

  /// Stacks that exist without the scan.
  void replaceStacks() {
    for (auto [step, stack] : llvm::zip_equal(scan.getYieldedSteps(), scan.getStackResults())) {
      Operation *op = step.getDefiningOp();
      if (op ? plan.behind.contains(op) : llvm::is_contained(scan.getSteps(), step))
        stack.replaceAllUsesWith(outside(step));
    }
  }

  /// The values of the region that are needed after the scan and are not yet stacks.
  llvm::SetVector<Value> findCrossing() {
    llvm::SetVector<Value> crossing;
    auto need = [&](Operation *op) {
      for (Value operand : op->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        bool moves = producer && (plan.behind.contains(producer) || plan.before.contains(producer));
        if (!moves && changes.of(operand) != Change::never && !findStack(scan, operand))
          crossing.insert(operand);
      }
    };
    llvm::for_each(plan.behind, need);
    for (const CarriedSum &sum : plan.sums)
      llvm::for_each(sum.terms, need);
    return crossing;
  }

  void replaceSum(const CarriedSum &sum) {
    Value initial = scan.getInitial()[sum.carried];
    DenseElementsAttr splat = splatOf(initial);
    bool isZero = splat && splat.getSplatValue<APFloat>().isZero();
    Value total = isZero ? Value() : initial;
    for (Operation *term : sum.terms) {
      Value more =
          sumOverSteps(b, term, outside(term->getOperand(0)), outside(term->getOperand(1)));
      total = total ? b.createOrFold<AddOp>(scan.getLoc(), total, more) : more;
    }
    scan.getResult(sum.carried).replaceAllUsesWith(total);
  }

  ScanOp scan;
  const Plan &plan;
  Changes changes;
  OpBuilder b;
  llvm::DenseMap<Value, Value> mapped;
};

/// The largest divisor of the trips whose stacks take at most `limit` bytes; 1 if there is none.
int64_t stepsAtOnce(int64_t trips, int64_t bytes, int64_t limit) {
  int64_t steps = std::min(trips, limit / std::max<int64_t>(bytes / trips, 1));
  while (steps > 1 && trips % steps != 0)
    --steps;
  return std::max<int64_t>(steps, 1);
}

struct HoistFromScans : impl::HoistFromScansBase<HoistFromScans> {
  using HoistFromScansBase::HoistFromScansBase;

  void runOnOperation() override {
    for (auto function : functionsOf(getOperation())) {
      SmallVector<ScanOp> scans; // inner ones first: ops that leave them may leave outer ones, too
      function.walk([&](ScanOp scan) { scans.push_back(scan); });
      for (ScanOp scan : scans)
        if (scan->getParentOp() != function || !function->hasAttr(inPartsName))
          hoist(scan);
    }
  }

  void hoist(ScanOp scan) {
    int64_t trips = scan.getTrips();
    if (trips < 2)
      return;
    // Only a run knows how many steps it takes, so nothing is computed over all of them.
    if (scan.mayEndEarly()) {
      if (firstCondition(scan) == true)
        move(scan, Planner(scan).run(/*onlyInvariants=*/true));
      return;
    }
    Plan plan = Planner(scan).run(/*onlyInvariants=*/false);
    int64_t bytes = Mover(scan, plan).stackBytes();
    if (bytes <= stackBytes)
      return move(scan, plan);
    if (int64_t steps = stepsAtOnce(trips, bytes, stackBytes); steps > 1) {
      ScanOp inner = splitScan(scan, steps);
      scan = inner->getParentOfType<ScanOp>();
      move(inner, Planner(inner).run(/*onlyInvariants=*/false));
    }
    move(scan, Planner(scan).run(/*onlyInvariants=*/true));
  }

  static void move(ScanOp scan, const Plan &plan) {
    if (!plan.isEmpty())
      Mover(scan, plan).run();
  }
};

} // namespace
} // namespace gradc
