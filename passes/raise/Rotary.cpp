// Rotary positions: x cosine + (-b, a) sine, for halves a, b of x, computes each half for itself,
// as the import of RotaryEmbedding does: nothing is turned in memory, forward or backward.
#include "passes/raise/Match.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// The value of which `value` is half number `index` along `dim`.
Value halfOf(Value value, int64_t dim, int64_t index) {
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice || llvm::any_of(slice.getStrides(), [](int64_t stride) { return stride != 1; }))
    return {};
  ArrayRef<int64_t> whole = slice.getOperand().getType().getShape();
  for (auto [d, start, size] : llvm::enumerate(slice.getStarts(), slice.getSizes())) {
    bool isHalved = int64_t(d) == dim;
    if (size * (isHalved ? 2 : 1) != whole[d] || start != (isHalved ? index * size : 0))
      return {};
  }
  return slice.getOperand();
}

/// x where `op` is (-b, a) for halves a, b of x.
Value turnedBy(ConcatenateOp op) {
  if (op.getNumOperands() != 2)
    return {};
  auto negated = op.getOperand(0).getDefiningOp<NegOp>();
  Value x = negated ? halfOf(negated.getOperand(), op.getDim(), 1) : Value();
  return x && halfOf(op.getOperand(1), op.getDim(), 0) == x ? x : Value();
}

/// Half number `index` along `dim`; of what is repeated along other dims, before that.
Expr half(Expr value, int64_t dim, int64_t index) {
  SmallVector<int64_t> shape(value.shape());
  shape[dim] /= 2;
  auto broadcast = value.get().getDefiningOp<BroadcastOp>();
  if (broadcast) {
    auto at = llvm::find(broadcast.getDims(), dim);
    Expr small = value.with(broadcast.getOperand());
    if (at != broadcast.getDims().end())
      small = half(small, at - broadcast.getDims().begin(), index);
    return small.broadcast(value.type().clone(shape), broadcast.getDims());
  }
  SmallVector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1);
  starts[dim] = index * shape[dim];
  OpBuilder &b = value.getBuilder();
  return value.with(b.createOrFold<SliceOp>(value.getLoc(), value, starts, shape, strides));
}

struct RaiseRotary : OpRewritePattern<ConcatenateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatenateOp op, PatternRewriter &rewriter) const override {
    Value x = turnedBy(op);
    auto second = x && op->hasOneUse() ? dyn_cast<MulOp>(*op->user_begin()) : MulOp();
    auto sum = second && second->hasOneUse() ? dyn_cast<AddOp>(*second->user_begin()) : AddOp();
    Value rest = sum ? otherOperand(sum, second) : Value();
    auto first = rest ? ownedBy<MulOp>(rest) : MulOp();
    Value cosine = first ? otherOperand(first, x) : Value();
    if (!cosine)
      return failure();
    int64_t dim = op.getDim();
    rewriter.setInsertionPoint(sum);
    Expr c(rewriter, sum.getLoc(), cosine), s = c.with(otherOperand(second, op));
    Expr a = c.with(op.getOperand(1)),
         b = c.with(op.getOperand(0).getDefiningOp<NegOp>().getOperand());
    Value real = a * half(c, dim, 0) - b * half(s, dim, 0);
    Value imaginary = b * half(c, dim, 1) + a * half(s, dim, 1);
    rewriter.replaceOpWithNewOp<ConcatenateOp>(sum, ValueRange{real, imaginary}, dim);
    return success();
  }
};

} // namespace

void gradc::populateRaiseRotary(RewritePatternSet &patterns) {
  patterns.add<RaiseRotary>(patterns.getContext());
}
