// Ops that move elements: indices in, indices out.
#include "dialects/grad/Movement.h"
#include "dialects/grad/math/Count.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::grad;

// Iota --------------------------------------------------------------------------------------------

LogicalResult IotaOp::verify() {
  int64_t dim = getDim(), rank = getType().getRank();
  if (dim < 0 || dim >= rank)
    return emitOpError("expected dim in [0, ") << rank << "), found " << dim;
  return success();
}
void IotaOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor> results) {
  int64_t i = 0;
  forEachIndex(results[0].getShape(),
               [&](ArrayRef<int64_t> index) { results[0].setInt(i++, index[getDim()]); });
}
SmallVector<Value> IotaOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  return pointwiseLoops(builder, *this, operands, [&](OpBuilder &b, Location loc, ValueRange) {
    Type element = signlessType(getType()).getElementType();
    Value index = linalg::IndexOp::create(b, loc, getDim());
    if (!isa<FloatType>(element))
      return SmallVector<Value>{arith::IndexCastOp::create(b, loc, element, index)};
    // Vectors convert 32-bit integers to floats, but not 64-bit ones.
    bool isShort = getType().getDimSize(getDim()) <= std::numeric_limits<int32_t>::max();
    Value integer = arith::IndexCastOp::create(b, loc, b.getIntegerType(isShort ? 32 : 64), index);
    Type computed = element.isF64() ? element : b.getF32Type();
    return SmallVector<Value>{arith::SIToFPOp::create(b, loc, computed, integer)};
  });
}
LogicalResult IotaOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}
LoopKind IotaOp::getLoopKind() { return LoopKind::elementwise; }

// Reshape -----------------------------------------------------------------------------------------

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  if (from.getElementType() != to.getElementType())
    return emitOpError("expected the operand's element type ")
           << from.getElementType() << ", found " << to.getElementType();
  if (from.getNumElements() != to.getNumElements())
    return emitOpError("expected the operand's ")
           << from.getNumElements() << " elements, found " << to.getNumElements();
  return success();
}
OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? OpFoldResult(getOperand()) : OpFoldResult();
}
LogicalResult ReshapeOp::canonicalize(ReshapeOp op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
  if (!inner)
    return failure();
  rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getOperand());
  return success();
}
void ReshapeOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  results[0] = operands[0].reshaped(results[0].getShape());
}
/// A view: kernels see the operand's memory in the new shape. As loops, it is collapsed to one dim
/// and expanded from there.
SmallVector<Value> ReshapeOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  auto allDims = [](int64_t rank) {
    SmallVector<ReassociationIndices> groups;
    if (rank > 0)
      groups.push_back(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
    return groups;
  };
  Value flat = operands[0];
  int64_t from = getOperand().getType().getRank(), to = getType().getRank();
  RankedTensorType type = signlessType(getType());
  if (from == to && type == flat.getType())
    return {flat};
  if (from == 0)
    return {tensor::ExpandShapeOp::create(builder, getLoc(), type, flat,
                                          ArrayRef<ReassociationIndices>{})};
  if (to == 0)
    return {tensor::CollapseShapeOp::create(builder, getLoc(), type, flat,
                                            ArrayRef<ReassociationIndices>{})};
  if (from > 1)
    flat = tensor::CollapseShapeOp::create(builder, getLoc(), flat, allDims(from));
  if (to > 1)
    flat = tensor::ExpandShapeOp::create(builder, getLoc(), type, flat, allDims(to));
  return {flat};
}
LogicalResult ReshapeOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                       SmallVectorImpl<Value> &operandGradients) {
  if (isFloatTensor(getType()))
    operandGradients[0] =
        Expr(builder, getLoc(), resultGradients[0]).reshape(getOperand().getType().getShape());
  return success();
}
LoopKind ReshapeOp::getLoopKind() { return LoopKind::view; }

// Transpose ---------------------------------------------------------------------------------------

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  if (int64_t(permutation.size()) != type.getRank() || !isPermutationVector(permutation))
    return emitOptionalError(location, "expected a permutation of the operand's ", type.getRank(),
                             " dims, found ", formatDims(permutation));
  types.push_back(type.clone(applyPermutation(type.getShape(), permutation)));
  return success();
}
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  return llvm::equal(getPermutation(), llvm::seq<int64_t>(0, getType().getRank()))
             ? OpFoldResult(getOperand())
             : OpFoldResult();
}
LogicalResult TransposeOp::canonicalize(TransposeOp op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<TransposeOp>();
  if (!inner)
    return failure();
  rewriter.replaceOpWithNewOp<TransposeOp>(
      op, inner.getOperand(), applyPermutation(inner.getPermutation(), op.getPermutation()));
  return success();
}
void TransposeOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  SmallVector<int64_t> source(getPermutation().size());
  int64_t i = 0;
  forEachIndex(results[0].getShape(), [&](ArrayRef<int64_t> index) {
    for (auto [d, p] : llvm::enumerate(getPermutation()))
      source[p] = index[d];
    copyElement(operands[0], linearize(source, operands[0].getShape()), results[0], i++);
  });
}
SmallVector<Value> TransposeOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  SmallVector<AffineExpr> input(getPermutation().size());
  for (auto [d, p] : llvm::enumerate(getPermutation()))
    input[p] = builder.getAffineDimExpr(d);
  return gatherLoops(builder, *this, operands[0], input);
}
LogicalResult TransposeOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  if (isFloatTensor(getType()))
    operandGradients[0] = Expr(builder, getLoc(), resultGradients[0])
                              .transpose(invertPermutationVector(getPermutation()));
  return success();
}
LoopKind TransposeOp::getLoopKind() { return LoopKind::movement; }
SmallVector<int64_t> TransposeOp::getResultDims() {
  return invertPermutationVector(getPermutation());
}

// Broadcast ---------------------------------------------------------------------------------------

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = getOperand().getType(), to = getType();
  ArrayRef<int64_t> dims = getDims();
  bool increasing = llvm::all_of(dims, [&](int64_t d) { return d >= 0 && d < to.getRank(); }) &&
                    llvm::adjacent_find(dims, std::greater_equal<>()) == dims.end();
  if (int64_t(dims.size()) != from.getRank() || !increasing)
    return emitOpError("expected ") << from.getRank() << " strictly increasing dims in [0, "
                                    << to.getRank() << "), found " << formatDims(dims);
  for (auto [i, d] : llvm::enumerate(dims))
    if (from.getDimSize(i) != to.getDimSize(d))
      return emitOpError("expected operand dim ")
             << i << " (" << from.getDimSize(i) << ") to match result dim " << d << " ("
             << to.getDimSize(d) << ")";
  if (from.getElementType() != to.getElementType())
    return emitOpError("expected the operand's element type ")
           << from.getElementType() << ", found " << to.getElementType();
  return success();
}
OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getOperand().getType() == getType() ? OpFoldResult(getOperand()) : OpFoldResult();
}
LogicalResult BroadcastOp::canonicalize(BroadcastOp op, PatternRewriter &rewriter) {
  auto inner = op.getOperand().getDefiningOp<BroadcastOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> dims =
      llvm::map_to_vector(inner.getDims(), [&](int64_t d) { return op.getDims()[d]; });
  rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getOperand(), dims);
  return success();
}
void BroadcastOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  SmallVector<int64_t> source(getDims().size());
  int64_t i = 0;
  forEachIndex(results[0].getShape(), [&](ArrayRef<int64_t> index) {
    for (auto [s, d] : llvm::enumerate(getDims()))
      source[s] = index[d];
    copyElement(operands[0], linearize(source, operands[0].getShape()), results[0], i++);
  });
}
SmallVector<Value> BroadcastOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  SmallVector<AffineExpr> input =
      llvm::map_to_vector(getDims(), [&](int64_t d) { return builder.getAffineDimExpr(d); });
  return gatherLoops(builder, *this, operands[0], input);
}
LogicalResult BroadcastOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  if (!isFloatTensor(getType()))
    return success();
  Expr g(builder, getLoc(), resultGradients[0]);
  SmallVector<int64_t> repeated = otherDims(getType().getRank(), getDims());
  std::optional<Expr> sum = sumOfRepeats(g, repeated);
  operandGradients[0] = sum ? *sum : g.sum(repeated);
  return success();
}
LoopKind BroadcastOp::getLoopKind() { return LoopKind::movement; }
SmallVector<int64_t> BroadcastOp::getResultDims() { return SmallVector<int64_t>(getDims()); }
