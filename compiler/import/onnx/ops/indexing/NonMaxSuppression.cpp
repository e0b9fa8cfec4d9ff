// NonMaxSuppression: the boxes of each class, sorted by score, of which some are kept.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// Sides and areas of all boxes: [images, boxes].
struct Boxes {
  Expr top, left, bottom, right, area;
};

class Suppression {
public:
  explicit Suppression(Node &n) : n(n) {}
  LogicalResult import();

private:
  LogicalResult read();
  /// Checks that only the boxes have an extent that a run knows.
  LogicalResult readExtent();
  Boxes readBoxes();
  /// Operand `i`, a scalar, as `element`; `otherwise` if it is omitted.
  Expr scalar(unsigned i, Type element, double otherwise);

  Node &n;
  Value countOfRun; ///< the number of boxes, if only a run knows it
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

LogicalResult Suppression::readExtent() {
  for (unsigned i = 0; i < n.operandCount(); ++i)
    if (auto extent = n.extent(i)) {
      bool isOfBoxes = (i == 0 && extent->dim == 1) || (i == 1 && extent->dim == 2);
      if (!isOfBoxes || (countOfRun && countOfRun != extent->count))
        return n.error() << "expected one number of boxes that only a run knows, found "
                         << n.describeOperand(i) << ", where a run determines dim " << extent->dim;
      countOfRun = extent->count;
    }
  return success();
}

Expr Suppression::scalar(unsigned i, Type element, double otherwise) {
  if (!n.operand(i))
    return n.expr(splat(n.builder(), n.loc(), RankedTensorType::get({}, element), otherwise));
  return n.expr(i).reshape({}).cast(element);
}

Boxes Suppression::readBoxes() {
  auto coordinate = [&](int64_t k) {
    return n.expr(0u).slice(2, k, 1).reshape({images, count}).wide();
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

LogicalResult Suppression::import() {
  if (failed(read()) || failed(readExtent()))
    return failure();
  OpBuilder &b = n.builder();
  if (most == 0) {
    n.ignore("center_point_box");
    return n.set(splat(b, n.loc(), RankedTensorType::get({0, 3}, b.getI64Type()), 0));
  }
  Expr scores = n.expr(1);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Expr isCandidate =
      n.operand(4)
          ? scores.compare(ComparePredicate::gt,
                           scalar(4, scores.element(), -infinity).broadcastScalar(scores.type()))
          : n.expr(splat(b, n.loc(), scores.type().clone(b.getI1Type()), 1));
  if (countOfRun) {
    Expr position = n.expr(IotaOp::create(b, n.loc(), scores.type().clone(b.getI64Type()), 2));
    Expr limit = n.expr(countOfRun).broadcastScalar(position.type());
    isCandidate = isCandidate.apply<AndOp>(position.compare(ComparePredicate::lt, limit));
  }
  // A kernel that sorts puts masked elements last without sorting them, and often most are.
  Expr masked =
      n.operand(4) || countOfRun ? isCandidate.select(scores, scores.splat(-infinity)) : scores;
  Expr order = n.expr(argsort(masked, 2, count, /*descending=*/true));
  Boxes boxes = readBoxes();
  Expr isKept = n.expr(b.createOrFold<NonMaxSuppressionOp>(
      n.loc(), isCandidate.type(), boxes.top, boxes.left, boxes.bottom, boxes.right, boxes.area,
      order, isCandidate, scalar(3, boxes.top.element(), 0), scalar(2, b.getI64Type(), 0)));
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
  takeExtents(ops, TakesExtents::itself, {"NonMaxSuppression"});
}
