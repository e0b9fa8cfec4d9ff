// Non-maximum suppression. Its decomposition is a scan over the boxes, best first.
#include "dialects/grad/Build.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;

LogicalResult NonMaxSuppressionOp::verify() {
  RankedTensorType side = getTop().getType(), order = cast<RankedTensorType>(getOrder().getType()),
                   candidates = getCandidates().getType(),
                   limit = cast<RankedTensorType>(getLimit().getType());
  auto isI64 = [](RankedTensorType type) { return type.getElementType().isSignlessInteger(64); };
  if (side.getRank() != 2 || order.getRank() != 3 || order.getDimSize(0) != side.getDimSize(0) ||
      order.getDimSize(2) != side.getDimSize(1) || !isI64(order) ||
      candidates.getShape() != order.getShape())
    return emitOpError("expected sides [images, boxes], an i64 order [images, classes, boxes] and "
                       "candidates of its shape, found ")
           << side << ", " << order << " and " << candidates;
  if (getThreshold().getType() != RankedTensorType::get({}, side.getElementType()) ||
      limit.getRank() != 0 || !isI64(limit))
    return emitOpError("expected a threshold of the sides' type and an i64 limit, found ")
           << getThreshold().getType() << " and " << limit;
  return success();
}

/// One comparison of each box.
int64_t NonMaxSuppressionOp::getFlops() { return getCandidates().getType().getNumElements() * 12; }
bool NonMaxSuppressionOp::costDependsOnIndices() { return true; }

/// Whether two boxes overlap by more than the threshold of their union. A threshold that is itself
/// rounded decides about shares, so each step is rounded to the element type, as in the
/// decomposition.
static bool overlap(ArrayRef<HostTensor> operands, int64_t a, int64_t b) {
  HostTensor rounded(RankedTensorType::get({1}, operands[0].getElementType()));
  auto round = [&](double x) {
    rounded.setFloat(0, x);
    return rounded.getFloat(0);
  };
  auto along = [&](unsigned low, unsigned high) {
    double end = MinOp::evaluateScalar(operands[high].getFloat(a), operands[high].getFloat(b));
    double begin = MaxOp::evaluateScalar(operands[low].getFloat(a), operands[low].getFloat(b));
    return MaxOp::evaluateScalar(round(end - begin), 0.0);
  };
  double both = round(along(0, 2) * along(1, 3));
  double either = round(round(operands[4].getFloat(a) + operands[4].getFloat(b)) - both);
  return either > 0 && round(both / either) > operands[7].getFloat(0);
}

void NonMaxSuppressionOp::evaluate(ArrayRef<HostTensor> operands,
                                   MutableArrayRef<HostTensor> results) {
  const HostTensor &order = operands[5], &candidates = operands[6];
  int64_t limit = operands[8].getInt(0);
  int64_t boxes = order.getShape()[2], classes = order.getShape()[1];
  for (int64_t row = 0; row < order.getShape()[0] * classes; ++row) {
    std::vector<int64_t> kept;
    int64_t image = row / classes;
    for (int64_t i = 0; i < boxes; ++i) {
      int64_t box = order.getInt(row * boxes + i), place = image * boxes + box;
      bool keeps =
          candidates.getInt(row * boxes + box) && int64_t(kept.size()) < limit &&
          llvm::none_of(kept, [&](int64_t other) { return overlap(operands, place, other); });
      if (keeps)
        kept.push_back(place);
      results[0].setInt(row * boxes + i, keeps);
    }
  }
}

namespace {

/// Sides and areas of all boxes, or of one box.
struct Boxes {
  Expr top, left, bottom, right, area;
};

} // namespace

/// Whether two boxes overlap by more than `threshold` of their union.
static Expr overlaps(const Boxes &own, const Boxes &other, Expr threshold) {
  Expr zero = threshold.splat(0);
  Expr height =
      (own.bottom.apply<MinOp>(other.bottom) - own.top.apply<MaxOp>(other.top)).apply<MaxOp>(zero);
  Expr width =
      (own.right.apply<MinOp>(other.right) - own.left.apply<MaxOp>(other.left)).apply<MaxOp>(zero);
  Expr both = height * width, either = own.area + other.area - both;
  Expr isArea = either.compare(ComparePredicate::gt, zero);
  Expr share = both / isArea.select(either, threshold.splat(1));
  return isArea.apply<AndOp>(share.compare(ComparePredicate::gt, threshold));
}

SmallVector<Value> NonMaxSuppressionOp::decompose(OpBuilder &b) {
  Location loc = getLoc();
  auto bools = getCandidates().getType();
  int64_t count = bools.getDimSize(2);
  auto all = bools.clone(getTop().getType().getElementType());
  auto each = RankedTensorType::get(bools.getShape().drop_back(), b.getI64Type());
  /// x, per box or per box and class, in order.
  auto inOrder = [&](Value x) {
    SmallVector<int64_t> dims{0, -1};
    if (cast<RankedTensorType>(x.getType()).getRank() == 3)
      dims = {0, 1, -1};
    return Expr(b, loc,
                b.createOrFold<GatherOp>(loc, x, getOrder(), dims, ArrayRef<int64_t>{0, 1, 2}));
  };
  auto counted = splat(b, loc, each, 0);
  ScanOperands operands;
  operands.initial = {splat(b, loc, bools, 0), counted};
  for (Value x : {getTop(), getLeft(), getBottom(), getRight(), getArea()}) {
    Expr sorted = inOrder(x);
    operands.stacks.push_back(sorted.transpose({2, 0, 1}));
    operands.invariants.push_back(sorted);
  }
  auto steps = RankedTensorType::get({count}, b.getI64Type());
  operands.stacks.push_back(inOrder(getCandidates()).transpose({2, 0, 1}));
  operands.stacks.push_back(IotaOp::create(b, loc, steps, 0));
  operands.invariants.push_back(Expr(b, loc, getThreshold()).broadcastScalar(all));
  operands.invariants.push_back(Expr(b, loc, getLimit()).broadcastScalar(each));
  auto scan = buildScan(
      b, loc, count, /*reverse=*/false, operands,
      [&](OpBuilder &inner, Block::BlockArgListType arguments) -> SmallVector<Value> {
        auto next = [&, i = 0u]() mutable { return Expr(inner, loc, arguments[i++]); };
        Expr suppressed = next(), kept = next();
        auto readBox = [&] {
          Expr top = next(), left = next(), bottom = next(), right = next();
          return Boxes{top, left, bottom, right, next()};
        };
        Boxes own = readBox();
        Expr candidate = next(), step = next();
        Boxes others = readBox();
        Expr threshold = next(), limit = next();
        for (Expr *x : {&own.top, &own.left, &own.bottom, &own.right, &own.area})
          *x = x->broadcast(all, {0, 1});
        auto numbers = all.clone(inner.getI64Type());
        Expr isOwn = step.with(IotaOp::create(inner, loc, numbers, 2))
                         .compare(ComparePredicate::eq, step.broadcastScalar(numbers));
        Expr marks = suppressed.apply<AndOp>(isOwn).cast(inner.getI64Type()).sum({2});
        Expr isKept = candidate.apply<AndOp>(marks.compare(ComparePredicate::eq, marks.splat(0)))
                          .apply<AndOp>(kept.compare(ComparePredicate::lt, limit));
        Expr hit = overlaps(own, others, threshold)
                       .apply<AndOp>(isKept.broadcast(suppressed.type(), {0, 1}));
        return {suppressed.apply<OrOp>(hit), kept + isKept.cast(inner.getI64Type()), isKept};
      });
  return {Expr(b, loc, scan.getResult(scan.getCarriedCount())).transpose({1, 2, 0})};
}

LogicalResult NonMaxSuppressionOp::buildGradient(OpBuilder &, ValueRange,
                                                 SmallVectorImpl<Value> &) {
  return success();
}
