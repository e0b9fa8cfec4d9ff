// Simplifies ifs: known conditions, unused inputs and unused results.
#include "dialects/grad/Build.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;

/// Inlines a region before its op, and replaces the op by the yielded values.
static void inlineRegion(PatternRewriter &rewriter, Operation *op, Block &block,
                         ValueRange arguments) {
  Operation *terminator = block.getTerminator();
  rewriter.inlineBlockBefore(&block, op, arguments);
  rewriter.replaceOp(op, terminator->getOperands());
  rewriter.eraseOp(terminator);
}

namespace {

/// Replaces an if with a known condition by one of its regions.
struct KnownCondition : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op, PatternRewriter &rewriter) const override {
    DenseElementsAttr condition = splatOf(op.getCondition());
    if (!condition)
      return failure();
    Region &taken = condition.getSplatValue<bool>() ? op.getBody() : op.getOtherwise();
    inlineRegion(rewriter, op, taken.front(), op.getInputs());
    return success();
  }
};

/// Removes inputs that neither region reads, and constant inputs.
struct NarrowIf : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op, PatternRewriter &rewriter) const override {
    bool changed = false;
    for (unsigned i = op.getInputs().size(); i-- > 0;) {
      Value operand = op.getInputs()[i];
      DenseElementsAttr constant = splatOf(operand);
      BlockArgument arguments[] = {op.getBody().getArgument(i), op.getOtherwise().getArgument(i)};
      if (!constant && llvm::any_of(arguments, [](BlockArgument a) { return !a.use_empty(); }))
        continue;
      for (BlockArgument argument : arguments)
        if (!argument.use_empty())
          rewriter.replaceAllUsesWith(
              argument, constantIn(rewriter, *argument.getOwner(), op.getLoc(), constant,
                                   cast<RankedTensorType>(argument.getType())));
      rewriter.modifyOpInPlace(op, [&] {
        for (BlockArgument argument : arguments)
          argument.getOwner()->eraseArgument(i);
        op.getInputsMutable().erase(i);
      });
      changed = true;
    }
    return success(changed);
  }
};

/// Removes unused results.
struct UnreadResults : OpRewritePattern<IfOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(IfOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> read(
        llvm::make_filter_range(op.getResults(), [](Value v) { return !v.use_empty(); }));
    if (read.size() == op.getNumResults() || read.empty())
      return failure();
    auto narrow = IfOp::create(rewriter, op.getLoc(), ValueRange(read).getTypes(),
                               op.getCondition(), op.getInputs());
    for (auto [from, to] : llvm::zip_equal(op.getRegions(), narrow.getRegions())) {
      auto yield = cast<YieldOp>(from->front().getTerminator());
      rewriter.modifyOpInPlace(yield, [&] {
        for (unsigned i = op.getNumResults(); i-- > 0;)
          if (op.getResult(i).use_empty())
            yield.getValuesMutable().erase(i);
      });
      rewriter.inlineRegionBefore(*from, *to, to->end());
    }
    for (auto [from, to] : llvm::zip_equal(read, narrow.getResults()))
      rewriter.replaceAllUsesWith(from, to);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void IfOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<KnownCondition, NarrowIf, UnreadResults>(context);
}
