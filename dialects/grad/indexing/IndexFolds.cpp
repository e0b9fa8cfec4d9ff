// Simplifies the indices of gather and scatter.
#include "dialects/grad/indexing/Index.h"

using namespace mlir;
using namespace mlir::grad;

/// Whether elements further along dim `dim` repeat the first one, which exists.
static bool repeatsAlong(const HostTensor &value, int64_t dim) {
  if (value.size() == 0)
    return false;
  int64_t size = value.getShape()[dim];
  int64_t stride = llvm::product_of(value.getShape().drop_front(dim + 1));
  for (int64_t i = 0; i < value.size(); ++i)
    if (i / stride % size != 0 && value.getInt(i) != value.getInt(i - stride))
      return false;
  return true;
}

static bool repeatsAlong(Value index, int64_t dim) {
  if (auto constant = index.getDefiningOp<ConstantOp>())
    return repeatsAlong(HostTensor(constant.getValue()), dim);
  auto repeated = index.getDefiningOp<BroadcastOp>();
  return repeated && !llvm::is_contained(repeated.getDims(), dim);
}

/// `index` without dim `dim`, along which it repeats its elements.
static Value withoutDim(OpBuilder &b, Value index, int64_t dim) {
  SmallVector<int64_t> shape(cast<RankedTensorType>(index.getType()).getShape());
  shape.erase(shape.begin() + dim);
  auto type = cast<RankedTensorType>(index.getType()).clone(shape);
  if (auto constant = index.getDefiningOp<ConstantOp>()) {
    HostTensor all(constant.getValue()), first(type);
    int64_t size = all.getShape()[dim];
    int64_t stride = llvm::product_of(all.getShape().drop_front(dim + 1));
    for (int64_t i = 0; i < first.size(); ++i)
      first.setInt(i, all.getInt(i / stride * stride * size + i % stride));
    return grad::constant(b, index.getLoc(), first);
  }
  auto repeated = index.getDefiningOp<BroadcastOp>();
  auto dims = llvm::map_to_vector(repeated.getDims(), [&](int64_t d) { return d - (d > dim); });
  return b.createOrFold<BroadcastOp>(index.getLoc(), type, repeated.getOperand(), dims);
}

namespace {

/// Exporters repeat the indices of rows for all elements of the rows. An index for each row lets
/// vectors read and write the rows.
template <typename Op> struct ReadIndexOfRow : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    for (auto [i, dim] : llvm::enumerate(op.getIndexDims())) {
      auto repeats = [&](Value index) { return repeatsAlong(index, int64_t(i)); };
      // A dim of the indices alone has its size from them.
      if (!llvm::is_contained(op.getDims(), dim) || !llvm::all_of(op.getIndices(), repeats))
        continue;
      auto indices = llvm::map_to_vector(
          op.getIndices(), [&](Value index) { return withoutDim(rewriter, index, int64_t(i)); });
      SmallVector<int64_t> dims(op.getIndexDims());
      dims.erase(dims.begin() + i);
      rewriter.modifyOpInPlace(op, [&] {
        op.getIndicesMutable().assign(indices);
        op.setIndexDims(dims);
      });
      return success();
    }
    return failure();
  }
};

} // namespace

void GatherOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ReadIndexOfRow<GatherOp>>(context);
}

void ScatterOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<ReadIndexOfRow<ScatterOp>>(context);
}
