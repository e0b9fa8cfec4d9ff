// NonZero and Compress: only a run knows how many elements are kept.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The coordinates of the first `most` true elements: i64 [rank, most].
static Expr findTrue(Expr x, int64_t most) {
  OpBuilder &b = x.getBuilder();
  auto type = RankedTensorType::get({x.type().getRank(), most}, b.getI64Type());
  return x.with(b.createOrFold<PositionsOp>(x.getLoc(), type, x.get()));
}

/// As many for a mask that is repeated along new dims as for the mask, times the repetitions:
/// exporters count the true elements of either one.
static Value countTrue(Expr x) {
  if (auto reshaped = x.get().getDefiningOp<ReshapeOp>())
    return countTrue(x.with(reshaped.getOperand()));
  if (auto wide = x.get().getDefiningOp<BroadcastOp>())
    if (int64_t elements = wide.getOperand().getType().getNumElements(); elements > 0)
      return x.with(countTrue(x.with(wide.getOperand()))) *
             double(x.type().getNumElements() / elements);
  Expr list = x.reshape({x.type().getNumElements()});
  return list.cast(x.getBuilder().getI64Type()).sum({0});
}

Kept gradc::keepWhere(Expr isKept, int64_t most) {
  return {findTrue(isKept, most).reshape({most}), countTrue(isKept)};
}

Expr gradc::any(Expr x, int64_t dim) {
  OpBuilder &b = x.getBuilder();
  SmallVector<int64_t> shape(x.shape());
  shape.erase(shape.begin() + dim);
  if (x.shape()[dim] == 1)
    return x.reshape(shape);
  Value most =
      b.createOrFold<ReduceMaxOp>(x.getLoc(), x.cast(b.getI32Type()), ArrayRef<int64_t>{dim});
  return x.with(most).compare(ComparePredicate::gt, x.with(most).splat(0));
}

Expr gradc::all(Expr x, int64_t dim) { return any(x.apply<NotOp>(), dim).apply<NotOp>(); }

FailureOr<AlongAxis> gradc::sliceByAxis(Node &n) {
  Expr x = n.expr(0u);
  if (!n.has("axis"))
    return AlongAxis{x.reshape({n.type(0).getNumElements()}), 0};
  FailureOr<int64_t> dim = n.axis(n.integer("axis", 0), n.rank(0));
  if (failed(dim))
    return failure();
  return AlongAxis{x, *dim};
}

/// The coordinates of the nonzero elements of a constant.
static Value findNonzero(OpBuilder &b, Location loc, const HostTensor &known) {
  bool isFloat = isa<FloatType>(known.getElementType());
  SmallVector<int64_t> places;
  for (int64_t i = 0; i < known.size(); ++i)
    if (isFloat ? known.getFloat(i) != 0 : known.getInt(i) != 0)
      places.push_back(i);
  ArrayRef<int64_t> shape = known.getShape();
  int64_t rank = shape.size(), count = places.size();
  HostTensor found(RankedTensorType::get({rank, count}, b.getI64Type()));
  for (auto [i, place] : llvm::enumerate(places))
    for (int64_t d = rank - 1, rest = place; d >= 0; rest /= shape[d--])
      found.setInt(d * count + int64_t(i), rest % shape[d]);
  return ConstantOp::create(b, loc, found.getType(), found.toAttribute());
}

/// For each nonzero element, its index along each dim, in row-major order. Those of a constant are
/// no extent of a run.
static LogicalResult importNonZero(Node &n) {
  int64_t elements = n.type(0).getNumElements();
  if (n.rank(0) == 0)
    return n.error() << "expected rank 1 or more, found " << n.describeOperand(0);
  if (elements == 0)
    return n.set(splat(n.builder(), n.loc(),
                       RankedTensorType::get({n.rank(0), 0}, n.builder().getI64Type()), 0));
  if (std::optional<HostTensor> known = n.extent(0) ? std::nullopt : n.tryKnown(0)) {
    n.fixRows(0);
    return n.set(findNonzero(n.builder(), n.loc(), *known));
  }
  Expr x = n.expr(0u);
  if (!n.element(0).isInteger(1))
    x = x.compare(ComparePredicate::ne, x.splat(0));
  x = n.neutralBehindExtent(0, x, allDims(n.rank(0)), 0);
  return n.set(0, findTrue(x, elements), {1, countTrue(x)});
}

/// The slices along an axis, or the elements, for which the condition holds; none past the end of
/// the condition.
static LogicalResult importCompress(Node &n) {
  if (failed(n.expect(1, Kind::Bool)) || failed(n.expectRank(1, 1)))
    return failure();
  FailureOr<AlongAxis> slices = sliceByAxis(n);
  if (failed(slices))
    return failure();
  auto [x, dim] = *slices;
  if (std::optional<RunExtent> extent = n.extent(0);
      extent && (extent->dim != dim || x.type() != n.type(0)))
    return n.error() << "cannot take " << n.describeOperand(0)
                     << ": only a run knows the extent of dim " << extent->dim
                     << ", and how many slices of another are kept";
  int64_t length = n.shape(1)[0];
  if (length > x.shape()[dim])
    return n.error() << "expected a condition of at most " << x.shape()[dim] << " elements, found "
                     << n.describeOperand(1);
  if (length == 0) {
    SmallVector<int64_t> shape(x.shape());
    shape[dim] = 0;
    return n.set(splat(n.builder(), n.loc(), x.type().clone(shape), 0));
  }
  Kept kept = keepWhere(n.neutralBehindExtent(1, n.expr(1), {0}, 0), length);
  return n.set(0, gatherAlong(x, dim, kept.positions), {dim, kept.count});
}

void gradc::addSelectOps(OpTable &ops) {
  ops["NonZero"] = {importNonZero, 1, 1};
  ops["Compress"] = {importCompress, 2, 2};
  takeExtents(ops, TakesExtents::itself, {"NonZero", "Compress"});
}
