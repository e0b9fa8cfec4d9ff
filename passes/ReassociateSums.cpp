// Reorders sums: moves common factors out, and splits sums of a few long columns in two steps.
#include "dialects/exec/Level.h"
#include "dialects/grad/Build.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace mlir::grad;

namespace gradc {
#define GEN_PASS_DEF_REASSOCIATESUMS
#include "passes/Passes.h.inc"
} // namespace gradc

/// Whether sums may be reordered: 16-bit floats may overflow, or lose precision, in another order.
static bool isReassociated(ReduceSumOp op) {
  return isa<Float32Type, Float64Type>(op.getType().getElementType());
}

static RankedTensorType summedType(ReduceSumOp op) {
  return cast<RankedTensorType>(op.getOperand().getType());
}

namespace {

/// Rewrites a sum of v * x, with v constant along all summed dims, to v times the sum of x, which
/// may already exist. Only if x is not computed for this sum alone; f16 might overflow.
struct FactorOutOfSum : OpRewritePattern<ReduceSumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceSumOp op, PatternRewriter &rewriter) const override {
    if (!isReassociated(op))
      return failure();
    SmallVector<Value> summed;
    SmallVector<BroadcastOp> factors;
    auto collect = [&](auto &&self, Value value) -> void {
      auto broadcast = value.getDefiningOp<BroadcastOp>();
      auto product = value.getDefiningOp<MulOp>();
      if (broadcast && llvm::none_of(op.getDims(), [&](int64_t d) {
            return llvm::is_contained(broadcast.getDims(), d);
          }))
        factors.push_back(broadcast);
      else if (product)
        self(self, product.getLhs()), self(self, product.getRhs());
      else
        summed.push_back(value);
    };
    collect(collect, op.getOperand());
    constexpr size_t most = 2;
    if (factors.empty() || summed.empty() || summed.size() > most ||
        llvm::any_of(summed, [](Value x) { return x.hasOneUse(); }))
      return failure();
    Expr product(rewriter, op.getLoc(), summed[0]);
    for (Value x : ArrayRef(summed).drop_front())
      product = product * product.with(x);
    Expr sum = product.sum(op.getDims());
    SmallVector<int64_t> kept = otherDims(summedType(op).getRank(), op.getDims());
    for (BroadcastOp factor : factors) {
      SmallVector<int64_t> dims;
      for (int64_t d : factor.getDims())
        dims.push_back(llvm::find(kept, d) - kept.begin());
      sum = sum * sum.with(factor.getOperand()).broadcast(sum.type(), dims);
    }
    rewriter.replaceOp(op, sum.get());
    return success();
  }
};

/// The threads of a column sum (over dims before the last) share the columns. With few long columns
/// some threads would idle, and each thread reads parts of rows, so the first dim is summed last,
/// in a separate step: threads share it in the first one and read whole rows.
struct SplitColumnSum : OpRewritePattern<ReduceSumOp> {
  SplitColumnSum(MLIRContext *context, const exec::KernelLimits &limits)
      : OpRewritePattern(context), limits(limits) {}

  LogicalResult matchAndRewrite(ReduceSumOp op, PatternRewriter &rewriter) const override {
    ArrayRef<int64_t> shape = summedType(op).getShape();
    int64_t columns = op.getType().getNumElements();
    int64_t length = summedType(op).getNumElements() / std::max<int64_t>(columns, 1);
    bool isLeading = llvm::equal(op.getDims(), llvm::seq<int64_t>(0, op.getDims().size()));
    bool isNarrow = columns <= limits.maxSplitColumns && shape[0] >= limits.minSplitPieces;
    bool isWide = summedType(op).getNumElements() >= limits.minWideElements &&
                  columns <= limits.maxWideColumns && shape[0] >= exec::manyUnits;
    if (!isReassociated(op) || !isLeading || op.getType().getRank() == 0 ||
        op.getDims().size() < 2 || length < limits.minSplitSum || !(isNarrow || isWide))
      return failure();
    Expr x(rewriter, op.getLoc(), op.getOperand());
    rewriter.replaceOp(op, x.sum(op.getDims().drop_front()).sum({0}).get());
    return success();
  }

  const exec::KernelLimits &limits;
};

struct ReassociateSums : gradc::impl::ReassociateSumsBase<ReassociateSums> {
  using ReassociateSumsBase::ReassociateSumsBase;

  void runOnOperation() override {
    // Factors first: once a sum is split, its factors are in the first step.
    if (failed(apply<FactorOutOfSum>()) || failed(apply<SplitColumnSum>(exec::kernelLimits(cuda))))
      signalPassFailure();
  }

  template <typename Pattern, typename... Arguments> LogicalResult apply(Arguments &&...arguments) {
    RewritePatternSet patterns(&getContext());
    patterns.add<Pattern>(&getContext(), arguments...);
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
