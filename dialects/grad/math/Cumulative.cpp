// Cumulative sums and products. The decomposition combines every element with another one, in each
// step twice as far away as in the step before.
#include "dialects/grad/Backward.h"
#include "dialects/grad/Build.h"
#include "dialects/grad/Permute.h"

using namespace mlir;
using namespace mlir::grad;

LogicalResult CumulativeOp::verify() {
  int64_t dim = getDim(), rank = getOperand().getType().getRank();
  if (dim < 0 || dim >= rank)
    return emitOpError("expected a dim from 0 to ") << rank - 1 << ", found " << dim;
  return success();
}

/// Calls `set` with the results of a row of `size` elements, which `get` returns.
template <typename Number>
static void accumulate(CumulativeOp op, int64_t size, llvm::function_ref<Number(int64_t)> get,
                       llvm::function_ref<void(int64_t, Number)> set) {
  bool isSum = op.getKind() == CumulativeKind::sum;
  Number all = isSum ? 0 : 1;
  for (int64_t i = 0; i < size; ++i) {
    int64_t at = op.getReverse() ? size - 1 - i : i;
    Number before = all, element = get(at);
    all = isSum ? all + element : all * element;
    set(at, op.getExclusive() ? before : all);
  }
}

void CumulativeOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &x = operands[0];
  HostTensor &y = results[0];
  int64_t dim = getDim(), size = x.getShape()[dim];
  int64_t step = llvm::product_of(x.getShape().drop_front(dim + 1));
  SmallVector<int64_t> rows(x.getShape());
  rows[dim] = 1;
  forEachIndex(rows, [&](ArrayRef<int64_t> index) {
    int64_t first = linearize(index, x.getShape());
    if (isa<FloatType>(x.getElementType()))
      accumulate<double>(
          *this, size, [&](int64_t i) { return x.getFloat(first + i * step); },
          [&](int64_t i, double value) { y.setFloat(first + i * step, value); });
    else
      accumulate<uint64_t>(
          *this, size, [&](int64_t i) { return uint64_t(x.getInt(first + i * step)); },
          [&](int64_t i, uint64_t value) { y.setInt(first + i * step, int64_t(value)); });
  });
}

/// x moved by `distance` to higher (`reverse`: lower) indices of `dim`; `value` fills the vacated
/// places.
static Expr shift(Expr x, int64_t dim, int64_t distance, bool reverse, double value) {
  OpBuilder &b = x.getBuilder();
  int64_t rank = x.type().getRank();
  SmallVector<int64_t> low(rank, 0), high(rank, 0), none(rank, 0);
  (reverse ? high : low)[dim] = distance;
  Value kept = x.slice(dim, reverse ? distance : 0, x.shape()[dim] - distance);
  return x.with(b.createOrFold<PadOp>(x.getLoc(), kept, low, high, none, APFloat(value)));
}

SmallVector<Value> CumulativeOp::decompose(OpBuilder &b) {
  Expr y = Expr(b, getLoc(), getOperand()).wide();
  bool isSum = getKind() == CumulativeKind::sum;
  int64_t dim = getDim(), size = y.shape()[dim];
  auto shifted = [&](int64_t by) { return shift(y, dim, by, getReverse(), isSum ? 0 : 1); };
  if (getExclusive() && size > 0)
    y = shifted(1);
  for (int64_t distance = 1; distance < size; distance *= 2)
    y = isSum ? y + shifted(distance) : y * shifted(distance);
  return {y.cast(getType().getElementType())};
}

// Each element is a term of the sums from its own place on. The gradient of products is built of
// products only, so zeros are not special, in no higher derivative either.
LogicalResult CumulativeOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                          SmallVectorImpl<Value> &operandGradients) {
  if (getKind() == CumulativeKind::prod)
    return gradientByDecomposition(*this, b, resultGradients, operandGradients);
  operandGradients[0] = b.createOrFold<CumulativeOp>(getLoc(), resultGradients[0], getKind(),
                                                     getDim(), getExclusive(), !getReverse());
  return success();
}

Operation *CumulativeOp::buildPermuted(OpBuilder &b, ValueRange operands,
                                       ArrayRef<int64_t> permutation) {
  return create(b, getLoc(), operands[0], getKind(), permuteDim(getDim(), permutation),
                getExclusive(), getReverse());
}
