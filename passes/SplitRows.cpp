// Gives products the row dims of their readers, so that these become epilogues.
#include "dialects/grad/Contraction.h"
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/kernel/MergedDims.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_SPLITROWS
#include "passes/Passes.h.inc"

namespace {

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
  static bool splitsRows(ReshapeOp op) {
    constexpr size_t maxRows = 8; // letters before those of the other dims
    ArrayRef<int64_t> from = op.getOperand().getType().getShape(), to = op.getType().getShape();
    return from.size() == 2 && to.size() > 2 && to.size() - 1 <= maxRows && from[1] == to.back() &&
           op.getType().getNumElements() > 0;
  }

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

struct SplitRows : impl::SplitRowsBase<SplitRows> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitRowsOfProduct>(&getContext());
    ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace gradc
