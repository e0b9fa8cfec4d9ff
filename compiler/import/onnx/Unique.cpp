// Unique: the distinct elements of a list, or the distinct slices of a tensor, found by comparing
// all pairs.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// All pairs of `count` rows.
struct Pairs {
  Expr equal;                ///< bool [count, count]
  Expr isLess;               ///< of a pair, the second: its first element that differs is smaller
  Expr ownFirst, otherFirst; ///< i64: the row's numbers
};

} // namespace

/// `x`: [rows, elements]. NaN equals NaN and is the largest number.
static Pairs comparePairs(Expr x) {
  OpBuilder &b = x.getBuilder();
  int64_t rows = x.shape()[0], width = x.shape()[1];
  auto type = x.type().clone({rows, rows, width});
  Expr own = x.broadcast(type, {0, 2}), other = x.broadcast(type, {1, 2});
  Expr less = other.compare(ComparePredicate::lt, own);
  Expr differs = other.compare(ComparePredicate::ne, own);
  if (isa<FloatType>(type.getElementType())) {
    Expr ownNan = own.compare(ComparePredicate::ne, own);
    Expr otherNan = other.compare(ComparePredicate::ne, other);
    less = less.apply<OrOp>(ownNan.apply<AndOp>(otherNan.apply<NotOp>()));
    differs = differs.apply<AndOp>(ownNan.apply<AndOp>(otherNan).apply<NotOp>());
  }
  if (width > 1) {
    Value first =
        b.createOrFold<ArgmaxOp>(x.getLoc(), differs.cast(b.getI32Type()), b.getI64IntegerAttr(2));
    auto numbers = type.clone(b.getI64Type());
    Expr position = x.with(IotaOp::create(b, x.getLoc(), numbers, 2));
    less = less.apply<AndOp>(
        position.compare(ComparePredicate::eq, x.with(first).broadcast(numbers, {0, 1})));
  }
  auto pairs = RankedTensorType::get({rows, rows}, b.getI64Type());
  return {any(differs, 2).apply<NotOp>(), any(less, 2),
          x.with(IotaOp::create(b, x.getLoc(), pairs, 0)),
          x.with(IotaOp::create(b, x.getLoc(), pairs, 1))};
}

/// For each row, the number of distinct rows that precede it in the result.
static Expr placeOf(const Pairs &pairs, Expr isFirst, bool isSorted) {
  OpBuilder &b = isFirst.getBuilder();
  Expr isBefore = pairs.isLess;
  if (!isSorted) {
    Value first = b.createOrFold<ArgmaxOp>(isFirst.getLoc(), pairs.equal.cast(b.getI32Type()),
                                           b.getI64IntegerAttr(1));
    isBefore = pairs.otherFirst.compare(
        ComparePredicate::lt, isFirst.with(first).broadcast(pairs.otherFirst.type(), {0}));
  }
  Expr counts = isFirst.broadcast(pairs.equal.type(), {1}).apply<AndOp>(isBefore);
  return counts.cast(b.getI64Type()).sum({1});
}

static LogicalResult importUnique(Node &n) {
  bool isSorted = n.integer("sorted", 1);
  FailureOr<AlongAxis> slices = sliceByAxis(n);
  if (failed(slices))
    return failure();
  auto [x, dim] = *slices;
  int64_t rank = x.type().getRank(), count = x.shape()[dim];
  int64_t width = count ? x.type().getNumElements() / count : 1;
  // More comparisons would take minutes.
  if (count > mostCompared || width > (int64_t(1) << 34) / std::max<int64_t>(count * count, 1))
    return n.error() << "among " << count << " slices of " << width
                     << " elements is not supported: expected at most " << mostCompared
                     << " slices, and 2^34 comparisons";
  if (count == 0 || width == 0)
    return n.error() << "expected elements, found " << n.describeOperand(0);
  SmallVector<int64_t> order{dim};
  llvm::append_range(order, otherDims(rank, {dim}));
  Pairs pairs = comparePairs(x.transpose(order).reshape({count, width}));
  OpBuilder &b = n.builder();
  Expr isEarlier = pairs.otherFirst.compare(ComparePredicate::lt, pairs.ownFirst);
  Expr isFirst = any(pairs.equal.apply<AndOp>(isEarlier), 1).apply<NotOp>();
  Expr place = placeOf(pairs, isFirst, isSorted);

  auto list = RankedTensorType::get({count}, b.getI64Type());
  auto scatter = [&](Expr places, Value updates, ScatterReduction how) {
    return b.createOrFold<ScatterOp>(n.loc(), list, splat(b, n.loc(), list, 0), places.get(),
                                     updates, how, elementDims(1, 0), allDims(1));
  };
  Value firsts = scatter(isFirst.select(place, place.splat(double(count))),
                         IotaOp::create(b, n.loc(), list, 0), ScatterReduction::replace);
  Value counts = scatter(place, splat(b, n.loc(), list, 1), ScatterReduction::add);
  Value distinct = gatherAlong(x, dim, firsts);
  Value found = isFirst.cast(b.getI64Type()).sum({0});
  return success(succeeded(n.set(0, distinct, {dim, found})) &&
                 (!n.wants(1) || succeeded(n.set(1, firsts, {0, found}))) &&
                 (!n.wants(2) || succeeded(n.set(2, place))) &&
                 (!n.wants(3) || succeeded(n.set(3, counts, {0, found}))));
}

void gradc::addUniqueOps(OpTable &ops) { ops["Unique"] = {importUnique, 1, 1}; }
