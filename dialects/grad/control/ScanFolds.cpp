// Simplifies scans: differentiation builds complete gradients, of which many parts are unused.
#include "dialects/grad/Build.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;

namespace {

/// A scan without steps returns its initial values.
struct NoStep : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    if (op.getTrips() != 0 && firstCondition(op) != false)
      return failure();
    SmallVector<Value> values(op.getInitial());
    for (Value stack : op.getStackResults())
      values.push_back(
          constant(rewriter, op.getLoc(), HostTensor(cast<RankedTensorType>(stack.getType()))));
    rewriter.replaceOp(op, values);
    return success();
  }
};

/// Replaces a scan with a single step by its body.
struct SingleStep : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    if (op.getTrips() != 1 || op.mayEndEarly())
      return failure();
    SmallVector<Value> arguments(op.getInitial());
    for (Value stack : op.getStacks())
      arguments.push_back(
          ReshapeOp::create(rewriter, op.getLoc(), stepType(stack.getType()), stack));
    llvm::append_range(arguments, op.getInvariants());
    Operation *terminator = op.getBlock().getTerminator();
    unsigned carried = op.getCarriedCount();
    rewriter.inlineBlockBefore(&op.getBlock(), op, arguments);
    SmallVector<Value> values(terminator->getOperands());
    for (unsigned i = carried; i < values.size(); ++i)
      values[i] = ReshapeOp::create(rewriter, op.getLoc(), op.getResult(i).getType(), values[i]);
    rewriter.replaceOp(op, values);
    rewriter.eraseOp(terminator);
    return success();
  }
};

/// Removes stacks and invariants that are unused, passed twice, or constant.
struct NarrowScan : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    bool changed = false;
    unsigned first = op.getCarriedCount(), stacks = op.getStacks().size();
    // Backwards, so that the earlier one of two equal operands stays.
    for (unsigned i = op->getNumOperands(); i-- > first;) {
      BlockArgument argument = op.getBlock().getArgument(i);
      bool isStack = i < first + stacks;
      unsigned begin = isStack ? first : first + stacks;
      if (!isReplaced(op, begin, i, argument, rewriter))
        continue;
      rewriter.modifyOpInPlace(op, [&] {
        op.getBlock().eraseArgument(i);
        (isStack ? op.getStacksMutable() : op.getInvariantsMutable()).erase(i - begin);
      });
      stacks -= isStack;
      changed = true;
    }
    return success(changed);
  }

private:
  static bool isReplaced(ScanOp op, unsigned begin, unsigned i, BlockArgument argument,
                         PatternRewriter &rewriter) {
    if (argument.use_empty())
      return true;
    for (unsigned twin = begin; twin < i; ++twin)
      if (op->getOperand(twin) == op->getOperand(i)) {
        rewriter.replaceAllUsesWith(argument, op.getBlock().getArgument(twin));
        return true;
      }
    if (DenseElementsAttr splat = splatOf(op->getOperand(i))) {
      rewriter.replaceAllUsesWith(argument, constantIn(rewriter, op.getBlock(), op.getLoc(), splat,
                                                       cast<RankedTensorType>(argument.getType())));
      return true;
    }
    return false;
  }
};

/// Removes carried values that never change, and those that equal a yielded step.
struct ConstantCarried : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (unsigned i = 0; i < op.getCarriedCount(); ++i) {
      BlockArgument argument = op.getBlock().getArgument(i);
      if (argument.use_empty() && op.getResult(i).use_empty())
        continue;
      Value next = op.getNextCarried()[i], initial = op.getInitial()[i];
      DenseElementsAttr splat = splatOf(initial);
      bool stays = next == argument || (splat && splatOf(next) == splat);
      // Its only other user is its own yield, which is removed with the value.
      bool isRead = llvm::any_of(argument.getUsers(), [&](Operation *user) {
        return user != op.getBlock().getTerminator();
      });
      if (!stays || (!isRead && op.getResult(i).use_empty()))
        continue;
      rewriter.modifyOpInPlace(op, [&] {
        op.getInvariantsMutable().append(initial);
        BlockArgument invariant = op.getBlock().addArgument(initial.getType(), op.getLoc());
        argument.replaceAllUsesWith(invariant);
        op.getBlock().getTerminator()->setOperand(i, argument);
      });
      rewriter.replaceAllUsesWith(op.getResult(i), initial);
      changed = true;
    }
    return success(changed);
  }
};

/// Removes unused results, carried values that no used result depends on, and duplicate stacks.
struct UnreadScan : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op, PatternRewriter &rewriter) const override {
    unsigned carried = op.getCarriedCount();
    unifyStacks(op, rewriter);
    llvm::BitVector live = findLive(op);
    if (live.all())
      return failure();
    if (live.none()) {
      rewriter.eraseOp(op);
      return success();
    }
    Block &block = op.getBlock();
    auto yield = cast<YieldOp>(block.getTerminator());
    ScanOperands operands{{}, op.getStacks(), op.getInvariants()};
    SmallVector<Type> types;
    SmallVector<Value> read;
    int64_t saved = 0, condition = -1;
    for (unsigned i = 0; i < op.getNumResults(); ++i) {
      if (!live[i])
        continue;
      if (op.mayEndEarly() && i == op.getCondition())
        condition = int64_t(operands.initial.size());
      if (i < carried)
        operands.initial.push_back(op.getInitial()[i]);
      types.push_back(op.getResult(i).getType());
      read.push_back(op.getResult(i));
      saved += i >= op.getNumResults() - op.getSaved();
    }
    rewriter.modifyOpInPlace(yield, [&] {
      for (unsigned i = op.getNumResults(); i-- > 0;)
        if (!live[i])
          yield.getValuesMutable().erase(i);
    });
    eraseDead(op, live, rewriter);
    auto narrow =
        ScanOp::create(rewriter, op.getLoc(), types, op.getTrips(), operands.initial,
                       operands.stacks, operands.invariants, op.getReverse(), saved, condition);
    rewriter.inlineRegionBefore(op.getBody(), narrow.getBody(), narrow.getBody().end());
    for (auto [from, to] : llvm::zip_equal(read, narrow.getResults()))
      rewriter.replaceAllUsesWith(from, to);
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Merges two results that stack the same value.
  static void unifyStacks(ScanOp op, PatternRewriter &rewriter) {
    llvm::DenseMap<Value, Value> stackOf;
    for (auto [step, stack] : llvm::zip_equal(op.getYieldedSteps(), op.getStackResults()))
      if (auto [at, isNew] = stackOf.try_emplace(step, stack); !isNew && !stack.use_empty())
        rewriter.replaceAllUsesWith(stack, at->second);
  }

  /// The used results, and the carried values that they or the number of steps depend on.
  static llvm::BitVector findLive(ScanOp op) {
    llvm::BitVector live(op.getNumResults());
    SmallVector<Value> work;
    llvm::DenseSet<Operation *> seen;
    auto mark = [&](unsigned i) {
      if (!live[i])
        work.push_back(op.getYielded()[i]);
      live.set(i);
    };
    for (OpResult result : op.getResults())
      if (!result.use_empty())
        mark(result.getResultNumber());
    if (op.mayEndEarly() && live.any())
      mark(unsigned(op.getCondition()));
    while (!work.empty()) {
      Value v = work.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(v)) {
        if (argument.getArgNumber() < op.getCarriedCount())
          mark(argument.getArgNumber());
      } else if (seen.insert(v.getDefiningOp()).second) {
        llvm::append_range(work, v.getDefiningOp()->getOperands());
      }
    }
    return live;
  }

  /// Erases ops that only dead carried values depend on.
  static void eraseDead(ScanOp op, const llvm::BitVector &live, PatternRewriter &rewriter) {
    Block &block = op.getBlock();
    for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&inner))
        rewriter.eraseOp(&inner);
    for (unsigned i = op.getCarriedCount(); i-- > 0;)
      if (!live[i])
        block.eraseArgument(i);
  }
};

} // namespace

void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<NoStep, SingleStep, NarrowScan, ConstantCarried, UnreadScan>(context);
}
