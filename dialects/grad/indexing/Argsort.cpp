// Argsort. Its decomposition counts, for each element, the elements before it in order.
#include "dialects/grad/Build.h"
#include "dialects/grad/Permute.h"

using namespace mlir;
using namespace mlir::grad;

LogicalResult ArgsortOp::verify() {
  RankedTensorType operand = getOperand().getType(),
                   result = cast<RankedTensorType>(getResult().getType());
  int64_t dim = getDim(), rank = operand.getRank();
  if (dim < 0 || dim >= rank)
    return emitOpError("expected a dim from 0 to ") << rank - 1 << ", found " << dim;
  SmallVector<int64_t> shape(operand.getShape());
  if (result.getRank() == rank)
    shape[dim] = std::min(shape[dim], result.getDimSize(dim));
  if (!result.getElementType().isSignlessInteger(64) || result.getShape() != ArrayRef(shape))
    return emitOpError("expected i64 of the operand's shape with at most ")
           << operand.getDimSize(dim) << " elements along dim " << dim << ", found " << result;
  return success();
}

/// Comparisons of a sort that merges.
int64_t ArgsortOp::getFlops() {
  int64_t size = getOperand().getType().getDimSize(getDim());
  return getOperand().getType().getNumElements() * llvm::Log2_64_Ceil(std::max<int64_t>(size, 2));
}

void ArgsortOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &x = operands[0];
  HostTensor &sorted = results[0];
  bool isFloat = isa<FloatType>(x.getElementType()),
       isUnsigned = x.getElementType().isUnsignedInteger();
  auto isLess = [&](int64_t a, int64_t b) {
    if (isFloat)
      return x.getFloat(a) < x.getFloat(b) ||
             (std::isnan(x.getFloat(b)) && !std::isnan(x.getFloat(a)));
    return isUnsigned ? uint64_t(x.getInt(a)) < uint64_t(x.getInt(b)) : x.getInt(a) < x.getInt(b);
  };
  int64_t dim = getDim(), size = x.getShape()[dim], count = sorted.getShape()[dim];
  int64_t step = llvm::product_of(x.getShape().drop_front(dim + 1));
  SmallVector<int64_t> rows(x.getShape());
  rows[dim] = 1;
  forEachIndex(rows, [&](ArrayRef<int64_t> index) {
    int64_t from = linearize(index, x.getShape()), to = linearize(index, sorted.getShape());
    auto positions = llvm::to_vector(llvm::seq<int64_t>(0, size));
    llvm::stable_sort(positions, [&](int64_t a, int64_t b) {
      return getDescending() ? isLess(from + b * step, from + a * step)
                             : isLess(from + a * step, from + b * step);
    });
    for (int64_t i = 0; i < count; ++i)
      sorted.setInt(to + i * step, positions[i]);
  });
}

/// For each element along `dim`, the number (i32) of elements that precede it in order.
static Expr placeInOrder(Expr x, int64_t dim, bool descending) {
  OpBuilder &b = x.getBuilder();
  int64_t rank = x.type().getRank(), beside = dim + 1; // the dim of the elements to compare with
  SmallVector<int64_t> shape(x.shape());
  shape.insert(shape.begin() + beside, x.shape()[dim]);
  auto type = x.type().clone(shape);
  Expr own = x.broadcast(type, otherDims(rank + 1, {beside}));
  Expr other = x.broadcast(type, otherDims(rank + 1, {dim}));
  auto numbers = type.clone(b.getI32Type());
  Expr isEarlier = x.with(IotaOp::create(b, x.getLoc(), numbers, beside))
                       .compare(ComparePredicate::lt, IotaOp::create(b, x.getLoc(), numbers, dim));
  Expr isBefore = other.compare(descending ? ComparePredicate::gt : ComparePredicate::lt, own);
  Expr isEqual = other.compare(ComparePredicate::eq, own);
  if (isa<FloatType>(type.getElementType())) {
    Expr ownNan = own.compare(ComparePredicate::ne, own);
    Expr otherNan = other.compare(ComparePredicate::ne, other);
    Expr isNanBefore = descending ? otherNan.apply<AndOp>(ownNan.apply<NotOp>())
                                  : ownNan.apply<AndOp>(otherNan.apply<NotOp>());
    isBefore = isBefore.apply<OrOp>(isNanBefore);
    isEqual = isEqual.apply<OrOp>(ownNan.apply<AndOp>(otherNan));
  }
  return isBefore.apply<OrOp>(isEqual.apply<AndOp>(isEarlier)).cast(b.getI32Type()).sum({beside});
}

SmallVector<Value> ArgsortOp::decompose(OpBuilder &b) {
  Expr x(b, getLoc(), getOperand());
  int64_t dim = getDim(), rank = x.type().getRank();
  auto type = cast<RankedTensorType>(getResult().getType());
  Expr place = placeInOrder(x, dim, getDescending());
  Value position =
      IotaOp::create(b, getLoc(), place.type().clone(type.getElementType()), uint64_t(dim));
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  SmallVector<int64_t> dims(all);
  dims[dim] = -1;
  // Elements placed after the last result are updates out of range, which have no effect.
  return {b.createOrFold<ScatterOp>(getLoc(), type, splat(b, getLoc(), type, 0), place.get(),
                                    position, ScatterReduction::replace, dims, all)};
}

LogicalResult ArgsortOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}

Operation *ArgsortOp::buildPermuted(OpBuilder &b, ValueRange operands,
                                    ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(cast<RankedTensorType>(getResult().getType()).getDimSize(dim));
  auto type = RankedTensorType::get(shape, b.getI64Type());
  return create(b, getLoc(), type, operands[0], permuteDim(getDim(), permutation), getDescending());
}
