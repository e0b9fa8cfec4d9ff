// NonMaxSuppression: a scan over the boxes of each class, best first, in which each kept box marks
// the boxes that it suppresses.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Indices.h"
#include "dialects/grad/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// Corners and areas of all boxes, or of one box.
struct Boxes {
  Expr top, left, bottom, right, area;
};

class Suppression {
public:
  explicit Suppression(Node &n) : n(n) {}
  LogicalResult import();

private:
  LogicalResult read();
  /// The boxes sorted by score: [images, classes, boxes].
  Boxes sortedBoxes(Expr order);
  Expr byScore(Expr x, Expr order, bool ofClass);
  /// Operand `i`, a scalar, as `type`; `otherwise` if it is omitted.
  Expr scalar(unsigned i, RankedTensorType type, double otherwise);
  /// Whether the scan keeps a box: bool [boxes, images, classes].
  Expr keep(const Boxes &boxes, Expr isCandidate);

  Node &n;
  int64_t images = 0, classes = 0, count = 0, most = 0;
};

} // namespace

LogicalResult Suppression::read() {
  if (failed(n.expect(0, Kind::Float)) || failed(n.expect(1, Kind::Float)) ||
      failed(n.expectSameElement(0, 1)) || failed(n.expectRank(0, 3)) || failed(n.expectRank(1, 3)))
    return failure();
  if (n.shape(0)[0] != n.shape(1)[0] || n.shape(0)[1] != n.shape(1)[2] || n.shape(0)[2] != 4)
    return n.error() << "expected boxes [images, boxes, 4] and scores [images, classes, boxes], "
                        "found "
                     << n.describeOperand(0) << " and " << n.describeOperand(1);
  for (unsigned i = 2; i < n.operandCount(); ++i)
    if (n.operand(i) && n.type(i).getNumElements() != 1)
      return n.error() << "expected a scalar, found " << n.describeOperand(i);
  images = n.shape(1)[0], classes = n.shape(1)[1], count = n.shape(1)[2];
  if (n.type(1).getNumElements() == 0 || count > mostCompared)
    return n.error() << "expected from 1 to " << mostCompared << " boxes, found "
                     << n.describeOperand(1);
  most = n.operand(2) ? count : 0;
  if (auto known = n.operand(2) ? n.tryKnown(2) : std::nullopt)
    most = std::clamp<int64_t>(known->getInt(0), 0, count);
  return success();
}

Expr Suppression::scalar(unsigned i, RankedTensorType type, double otherwise) {
  if (!n.operand(i))
    return n.expr(splat(n.builder(), n.loc(), type, otherwise));
  return n.expr(i).reshape({}).cast(type.getElementType()).broadcastScalar(type);
}

/// x, per box or per box and class, sorted with the best box first.
Expr Suppression::byScore(Expr x, Expr order, bool ofClass) {
  SmallVector<int64_t> dims{0, -1};
  if (ofClass)
    dims = {0, 1, -1};
  return n.expr(n.builder().createOrFold<GatherOp>(n.loc(), x, order.get(), dims, allDims(3)));
}

Boxes Suppression::sortedBoxes(Expr order) {
  auto coordinate = [&](int64_t k) {
    Value one = n.builder().createOrFold<SliceOp>(n.loc(), n.operand(0), ArrayRef<int64_t>{0, 0, k},
                                                  ArrayRef<int64_t>{images, count, 1},
                                                  ArrayRef<int64_t>{1, 1, 1});
    return byScore(n.expr(one).reshape({images, count}), order, /*ofClass=*/false);
  };
  Expr a = coordinate(0), b = coordinate(1), c = coordinate(2), d = coordinate(3);
  if (n.integer("center_point_box", 0)) { // x, y, width, height
    Expr halfWidth = c * 0.5, halfHeight = d * 0.5;
    return {b - halfHeight, a - halfWidth, b + halfHeight, a + halfWidth, c * d};
  }
  Expr top = a.apply<MinOp>(c), bottom = a.apply<MaxOp>(c); // any two opposite corners
  Expr left = b.apply<MinOp>(d), right = b.apply<MaxOp>(d);
  return {top, left, bottom, right, (bottom - top) * (right - left)};
}

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

Expr Suppression::keep(const Boxes &boxes, Expr isCandidate) {
  OpBuilder &b = n.builder();
  auto all = RankedTensorType::get({images, classes, count}, n.element(0));
  auto each = RankedTensorType::get({images, classes}, b.getI64Type());
  ScanOperands operands;
  operands.initial = {splat(b, n.loc(), all.clone(b.getI1Type()), 0), splat(b, n.loc(), each, 0)};
  for (const Expr &x : {boxes.top, boxes.left, boxes.bottom, boxes.right, boxes.area}) {
    operands.stacks.push_back(x.transpose({2, 0, 1}));
    operands.invariants.push_back(x);
  }
  auto steps = RankedTensorType::get({count}, b.getI64Type());
  operands.stacks.push_back(isCandidate.transpose({2, 0, 1}));
  operands.stacks.push_back(IotaOp::create(b, n.loc(), steps, 0));
  operands.invariants.push_back(scalar(3, all, 0));
  operands.invariants.push_back(scalar(2, each, 0));
  auto scan = buildScan(
      b, n.loc(), count, /*reverse=*/false, operands,
      [&](OpBuilder &inner, Block::BlockArgListType arguments) -> SmallVector<Value> {
        auto next = [&, i = 0u]() mutable { return Expr(inner, n.loc(), arguments[i++]); };
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
        Expr isOwn = step.with(IotaOp::create(inner, n.loc(), numbers, 2))
                         .compare(ComparePredicate::eq, step.broadcastScalar(numbers));
        Expr marks = suppressed.apply<AndOp>(isOwn).cast(inner.getI64Type()).sum({2});
        Expr isKept = candidate.apply<AndOp>(marks.compare(ComparePredicate::eq, marks.splat(0)))
                          .apply<AndOp>(kept.compare(ComparePredicate::lt, limit));
        Expr hit = overlaps(own, others, threshold)
                       .apply<AndOp>(isKept.broadcast(suppressed.type(), {0, 1}));
        return {suppressed.apply<OrOp>(hit), kept + isKept.cast(inner.getI64Type()), isKept};
      });
  return n.expr(scan.getResult(scan.getCarriedCount()));
}

LogicalResult Suppression::import() {
  if (failed(read()))
    return failure();
  OpBuilder &b = n.builder();
  if (most == 0) {
    n.ignore("center_point_box");
    return n.set(splat(b, n.loc(), RankedTensorType::get({0, 3}, b.getI64Type()), 0));
  }
  Expr order = n.expr(argsort(n.expr(1), 2, count, /*descending=*/true));
  Expr scores = byScore(n.expr(1), order, /*ofClass=*/true);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Expr isCandidate = n.operand(4)
                         ? scores.compare(ComparePredicate::gt, scalar(4, scores.type(), -infinity))
                         : n.expr(splat(b, n.loc(), n.type(1).clone(b.getI1Type()), 1));
  Expr isKept = keep(sortedBoxes(order), isCandidate).transpose({1, 2, 0});
  Kept kept = keepWhere(isKept.reshape({images * classes * count}), images * classes * most);
  Expr position = kept.positions;
  Expr image = position / double(classes * count);
  Expr ofClass = (position / double(count)).apply<RemOp>(position.splat(double(classes)));
  Value box = b.createOrFold<GatherOp>(n.loc(), order.reshape({images * classes * count}),
                                       position.get(), elementDims(1, 0), allDims(1));
  SmallVector<Value> columns;
  for (Expr column : {image, ofClass, n.expr(box)})
    columns.push_back(column.reshape({images * classes * most, 1}));
  return n.set(0, b.createOrFold<ConcatenateOp>(n.loc(), columns, 1), {0, kept.count});
}

static LogicalResult importNonMaxSuppression(Node &n) { return Suppression(n).import(); }

void gradc::addNonMaxSuppressionOps(OpTable &ops) {
  ops["NonMaxSuppression"] = {importNonMaxSuppression, 2, 5};
}
