// Coordinates of true elements. The decomposition counts those before each element.
#include "dialects/grad/Build.h"
#include "dialects/grad/Movement.h"

using namespace mlir;
using namespace mlir::grad;

LogicalResult PositionsOp::verify() {
  RankedTensorType operand = getOperand().getType(),
                   result = cast<RankedTensorType>(getResult().getType());
  if (operand.getRank() == 0)
    return emitOpError("expected an operand with a dim, found ") << operand;
  if (!result.getElementType().isSignlessInteger(64) || result.getRank() != 2 ||
      result.getDimSize(0) != operand.getRank() || result.getDimSize(1) > operand.getNumElements())
    return emitOpError("expected i64 of ")
           << operand.getRank() << " by at most " << operand.getNumElements() << " elements, found "
           << result;
  return success();
}

int64_t PositionsOp::getFlops() { return getOperand().getType().getNumElements(); }

void PositionsOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &isTrue = operands[0];
  HostTensor &positions = results[0];
  int64_t most = positions.getShape()[1], count = 0;
  forEachIndex(isTrue.getShape(), [&](ArrayRef<int64_t> index) {
    if (!isTrue.getInt(linearize(index, isTrue.getShape())) || count == most)
      return;
    for (auto [dim, coordinate] : llvm::enumerate(index))
      positions.setInt(int64_t(dim) * most + count, coordinate);
    ++count;
  });
}

/// The index of the i-th true element of a list; 0 behind the last one.
static Expr indicesOf(Expr isTrue, int64_t most) {
  OpBuilder &b = isTrue.getBuilder();
  Location loc = isTrue.getLoc();
  Expr ones = isTrue.cast(b.getI64Type());
  // A decomposition must not contain composites, so the sums are decomposed at once.
  auto sums = CumulativeOp::create(b, loc, ones.get(), CumulativeKind::sum, /*dim=*/0,
                                   /*exclusive=*/true, /*reverse=*/false);
  Expr place = ones.with(sums.decompose(b).front());
  sums.erase();
  // An update out of range has no effect: of an element that is false, or behind the last column.
  place = isTrue.select(place, place.splat(double(most)));
  auto type = RankedTensorType::get({most}, b.getI64Type());
  Value own = IotaOp::create(b, loc, ones.type(), 0);
  return ones.with(b.createOrFold<ScatterOp>(loc, type, splat(b, loc, type, 0), place.get(), own,
                                             ScatterReduction::replace, ArrayRef<int64_t>{-1},
                                             ArrayRef<int64_t>{0}));
}

SmallVector<Value> PositionsOp::decompose(OpBuilder &b) {
  auto type = cast<RankedTensorType>(getResult().getType());
  if (type.getNumElements() == 0)
    return {splat(b, getLoc(), type, 0)};
  Expr x(b, getLoc(), getOperand());
  int64_t most = type.getDimSize(1), stride = x.type().getNumElements();
  Expr index = indicesOf(x.reshape({stride}), most);
  SmallVector<Value> rows;
  for (auto [dim, size] : llvm::enumerate(x.shape())) {
    stride /= size;
    Expr coordinate = stride > 1 ? index / double(stride) : index;
    if (dim > 0)
      coordinate = coordinate.apply<RemOp>(coordinate.splat(double(size)));
    rows.push_back(coordinate.reshape({1, most}));
  }
  return {concatenate(b, getLoc(), rows, 0)};
}

LogicalResult PositionsOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}
