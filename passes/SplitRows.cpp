// Gives products the row dims of their readers, or readers the rows of sums of products, so that
// these become epilogues.
#include "dialects/grad/Grad.h"
#include "dialects/grad/TensorTypes.h"
#include "dialects/grad/math/Contraction.h"
#include "passes/Passes.h"
#include "passes/kernel/BatchReductions.h"
#include "passes/kernel/Clusters.h"
#include "passes/kernel/MergedDims.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_SPLITROWS
#include "passes/Passes.h.inc"

namespace {

/// Whether a reshape splits merged rows: [r, n] becomes [r1, r2.., n].
bool splitsRows(ReshapeOp op) {
  constexpr size_t maxRows = 8; // letters of a product before those of the other dims
  ArrayRef<int64_t> from = shapeOf(op.getOperand()), to = shapeOf(op);
  return from.size() == 2 && to.size() > 2 && to.size() - 1 <= maxRows && from[1] == to.back() &&
         op.getType().getNumElements() > 0;
}

/// A product of merged rows, which a reshape splits for pointwise ops: [r, n] becomes [r1, r2..,
/// n]. The product gets a letter for each of the dims, which MergeRows merges again.
struct SplitRowsOfProduct : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    // By name: this is the form that importers give a product whose rows have several dims.
    auto product = op.getOperand().getDefiningOp<MatmulOp>();
    if (!product || !product->hasOneUse() || product.getTransposeLhs() || !splitsRows(op) ||
        llvm::none_of(op->getUsers(), [](Operation *user) { return user->hasTrait<Pointwise>(); }))
      return failure();
    ArrayRef<int64_t> rows = op.getType().getShape().drop_back();
    if (!canMergeBehind(op, MergedDims(rows, /*keepsRank=*/false)))
      return failure();
    std::string letters;
    for (size_t d = 0; d < rows.size(); ++d)
      letters += char('a' + d);
    constexpr StringRef summed = "y", column = "z";
    StringRef rhs = product.getTransposeRhs() ? "zy" : "yz";
    std::string dims = (letters + summed + "," + rhs + "->" + letters + column).str();
    SmallVector<int64_t> shape(rows);
    RankedTensorType lhs = product.getLhs().getType();
    shape.push_back(lhs.getDimSize(1));
    Value split = rewriter.createOrFold<ReshapeOp>(op.getLoc(), lhs.clone(shape), product.getLhs());
    rewriter.replaceOp(
        op, contract(rewriter, product.getLoc(), split, product.getRhs(), dims, product.getWide()));
    rewriter.eraseOp(product);
    return success();
  }

private:
  /// Whether the dims can merge in the pointwise ops that may join the product's kernel: none reads
  /// a value for each index of one of them, such as a position.
  static bool canMergeBehind(Value value, const MergedDims &dims) {
    auto isMerged = [&](Value operand) {
      auto broadcast = operand.getDefiningOp<BroadcastOp>();
      return !broadcast || dims.keepsMeaning(broadcast);
    };
    for (;;) {
      for (Operation *user : value.getUsers())
        if (user->hasTrait<Pointwise>() && !llvm::all_of(user->getOperands(), isMerged))
          return false;
      if (!value.hasOneUse() || !value.user_begin()->hasTrait<Pointwise>())
        return true;
      value = value.user_begin()->getResult(0);
    }
  }
};

/// A sum over the batch of a product, such as its blocks, has its rows behind that batch, where
/// they cannot merge again. So the reshape that splits them moves behind pointwise ops, up to one
/// that reads a value for each index of one of the dims.
struct MoveBehindReaders : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    if (!splitsRows(op) || !addsUpBatch(op.getOperand()))
      return failure();
    MergedDims dims(op.getType().getShape().drop_back(), /*keepsRank=*/false);
    SmallVector<ReshapeOp> views{op};
    for (size_t i = 0; i < views.size(); ++i) {
      llvm::SetVector<Operation *> users(views[i]->user_begin(), views[i]->user_end());
      for (Operation *user : users) {
        if (!canMerge(user, dims))
          continue;
        rewriter.setInsertionPoint(user);
        Operation *copy = merged(user, dims, rewriter);
        views.push_back(rewriter.replaceOpWithNewOp<ReshapeOp>(user, user->getResult(0).getType(),
                                                               copy->getResult(0)));
      }
    }
    return success(views.size() > 1);
  }

private:
  /// Whether the value is a sum over the batch of a product, which may be scaled before.
  static bool addsUpBatch(Value value) {
    auto sum = dyn_cast_or_null<ReductionOpInterface>(value.getDefiningOp());
    if (!sum || sum.getReducedDims() != ArrayRef<int64_t>{0} || !value.hasOneUse())
      return false;
    Operation *scaled = sum->getOperand(0).getDefiningOp();
    return contractionBefore(sum) ||
           (scaled && scaled->hasTrait<Pointwise>() && contractionBefore(scaled));
  }

  /// Whether a pointwise op can have merged rows. What it repeats is repeated over these.
  static bool canMerge(Operation *op, const MergedDims &dims) {
    return op->hasTrait<Pointwise>() && op->getNumResults() == 1 &&
           llvm::all_of(op->getOperands(), [&](Value operand) {
             Operation *producer = operand.getDefiningOp();
             return dims.isSpread(operand.getType()) &&
                    (!producer || !isFree(producer) || dims.keepsMeaning(producer));
           });
  }

  static Operation *merged(Operation *op, const MergedDims &dims, PatternRewriter &rewriter) {
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, merged(operand, op->getLoc(), dims, rewriter));
    Operation *copy = rewriter.clone(*op, operands);
    dims.retype(copy);
    return copy;
  }

  static Value merged(Value value, Location location, const MergedDims &dims,
                      PatternRewriter &rewriter) {
    if (!dims.isSpread(value.getType()))
      return value;
    if (Operation *producer = value.getDefiningOp(); producer && isFree(producer))
      return merged(producer, dims, rewriter)->getResult(0);
    return rewriter.createOrFold<ReshapeOp>(location, dims.merged(value.getType()), value);
  }
};

struct SplitRows : impl::SplitRowsBase<SplitRows> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitRowsOfProduct, MoveBehindReaders>(&getContext());
    ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace gradc
