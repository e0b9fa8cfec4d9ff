// Ops that keep or select elements by position: triangles, the first maximum, the center.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/ops/Pick.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Keeps the elements on and above (`upper`) or on and below the k-th diagonal; 0 elsewhere.
static LogicalResult importTrilu(Node &n) {
  bool upper = n.integer("upper", 1);
  if (n.rank(0) < 2)
    return n.error() << "expected rank 2 or more, found " << n.describeOperand(0);
  int64_t rows = n.shape(0)[n.rank(0) - 2], columns = n.shape(0)[n.rank(0) - 1], diagonal = 0;
  if (n.operand(1)) {
    auto k = n.knownInts(1, "the diagonal");
    if (failed(k))
      return failure();
    n.fixRows(1);
    if (k->size() != 1)
      return n.error() << "expected one diagonal, found " << n.describeOperand(1);
    diagonal = std::clamp<int64_t>(k->front(), -rows - 1, columns + 1); // no sum overflows
  }
  OpBuilder &b = n.builder();
  auto index = RankedTensorType::get({rows, columns}, b.getI64Type());
  Expr row = n.expr(IotaOp::create(b, n.loc(), index, 0));
  Expr column = n.expr(IotaOp::create(b, n.loc(), index, 1));
  Expr kept =
      column.compare(upper ? ComparePredicate::ge : ComparePredicate::le, row + double(diagonal));
  Expr x = n.expr(0u);
  return n.set(n.expr(n.broadcast(kept, n.shape(0))).select(x, x.splat(0)));
}

/// 1 at the first maximum along a dim, 0 elsewhere; up to opset 12, over all dims from `axis` on.
static LogicalResult importHardmax(Node &n) {
  bool flattens = n.opset() < 13;
  FailureOr<int64_t> axis = n.axis(n.integer("axis", flattens ? 1 : -1), n.rank(0));
  if (failed(n.expect(0, Kind::Float)) || failed(axis))
    return failure();
  Expr x = n.expr(0u);
  int64_t dim = *axis;
  if (flattens) {
    int64_t rows = 1, columns = 1;
    for (auto [d, size] : llvm::enumerate(n.shape(0)))
      (int64_t(d) < *axis ? rows : columns) *= size;
    x = x.reshape({rows, columns});
    dim = 1;
  }
  if (x.type().getNumElements() == 0)
    return n.set(n.operand(0));
  OpBuilder &b = n.builder();
  Expr first = x.with(b.createOrFold<ArgmaxOp>(n.loc(), x, b.getI64IntegerAttr(dim)));
  auto index = RankedTensorType::get(x.shape(), b.getI64Type());
  Expr position = x.with(IotaOp::create(b, n.loc(), index, dim));
  Expr wide = first.broadcast(index, otherDims(index.getRank(), {dim}));
  Expr chosen = position.compare(ComparePredicate::eq, wide);
  return n.set(chosen.cast(n.element(0)).reshape(n.shape(0)));
}

/// Crops or pads dims to `shape`, equally on both sides; an odd element goes to the end.
static LogicalResult importCenterCropPad(Node &n) {
  auto axes = n.axesInOrder(n.integers("axes"));
  if (failed(axes))
    return failure();
  auto shape = n.knownInts(1, "the shape");
  if (failed(shape))
    return failure();
  if (shape->size() != axes->size())
    return n.error() << "expected " << axes->size() << " sizes, found " << shape->size();
  SmallVector<int64_t> starts(n.rank(0), 0), sizes(n.shape(0)), result(n.shape(0)),
      low(n.rank(0), 0), high(n.rank(0), 0), ones(n.rank(0), 1);
  for (auto [axis, wanted] : llvm::zip(*axes, *shape)) {
    int64_t more = wanted - n.shape(0)[axis];
    result[axis] = wanted;
    starts[axis] = more < 0 ? -more / 2 : 0;
    sizes[axis] = std::min(wanted, sizes[axis]);
    low[axis] = more > 0 ? more / 2 : 0;
    high[axis] = std::max<int64_t>(more, 0) - low[axis];
  }
  if (failed(n.expectSensible(result)))
    return failure();
  Value kept = n.builder().createOrFold<SliceOp>(n.loc(), n.operand(0), starts, sizes, ones);
  return n.set(padAround(n.expr(kept), low, high));
}

void gradc::addPositionOps(OpTable &ops) {
  ops["Trilu"] = {importTrilu, 1, 2};
  ops["com.microsoft::Trilu"] = {importTrilu, 1, 2};
  ops["Hardmax"] = {importHardmax, 1, 1};
  ops["CenterCropPad"] = {importCenterCropPad, 2, 2};
}
