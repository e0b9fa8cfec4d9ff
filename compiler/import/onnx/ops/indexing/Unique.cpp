// Unique: the distinct elements of a list, or the distinct slices of a tensor. Many are sorted, so
// that equal ones become neighbours; of others, all pairs are compared.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/Pick.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Measured: from this many numbers on, sorting takes less time than comparing all pairs.
constexpr int64_t fewestSorted = 64;
/// Slices of more elements are compared in pairs: each element is a sort of its own.
constexpr int64_t mostSortedColumns = 8;
/// More comparisons take minutes.
constexpr int64_t mostComparisons = int64_t(1) << 34;

namespace {

/// For each of `count` rows, in any order: where it is, and whether it is the first of its kind.
struct Rows {
  Expr position; ///< i64 [count]: of each, in the operand
  Expr isFirst;  ///< bool [count]: whether no equal row has a smaller position
  Expr place;    ///< i64 [count]: the number of distinct rows that precede it in the result
  Expr inverse;  ///< the same, in the operand's order
};

/// All pairs of `count` rows.
struct Pairs {
  Expr equal;                ///< bool [count, count]
  Expr isLess;               ///< of a pair, the second: its first element that differs is smaller
  Expr ownFirst, otherFirst; ///< i64: the row's numbers
};

} // namespace

/// Whether elements differ. NaN equals NaN.
static Expr differ(Expr x, Expr y) {
  Expr differs = x.compare(ComparePredicate::ne, y);
  if (!isa<FloatType>(x.element()))
    return differs;
  Expr areNan = x.compare(ComparePredicate::ne, x).apply<AndOp>(y.compare(ComparePredicate::ne, y));
  return differs.apply<AndOp>(areNan.apply<NotOp>());
}

// Pairs -------------------------------------------------------------------------------------------

/// `x`: [rows, elements]. NaN equals NaN and is the largest number.
static Pairs comparePairs(Expr x) {
  OpBuilder &b = x.getBuilder();
  int64_t rows = x.shape()[0], width = x.shape()[1];
  auto type = x.type().clone({rows, rows, width});
  Expr own = x.broadcast(type, {0, 2}), other = x.broadcast(type, {1, 2});
  Expr less = other.compare(ComparePredicate::lt, own), differs = differ(other, own);
  if (isa<FloatType>(type.getElementType())) {
    Expr ownNan = own.compare(ComparePredicate::ne, own);
    Expr otherNan = other.compare(ComparePredicate::ne, other);
    less = less.apply<OrOp>(ownNan.apply<AndOp>(otherNan.apply<NotOp>()));
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

static Rows findByPairs(Expr x, bool isSorted) {
  OpBuilder &b = x.getBuilder();
  Pairs pairs = comparePairs(x);
  Expr isEarlier = pairs.otherFirst.compare(ComparePredicate::lt, pairs.ownFirst);
  Expr isFirst = any(pairs.equal.apply<AndOp>(isEarlier), 1).apply<NotOp>();
  auto list = RankedTensorType::get({x.shape()[0]}, b.getI64Type());
  Expr place = placeOf(pairs, isFirst, isSorted);
  return {x.with(IotaOp::create(b, x.getLoc(), list, 0)), isFirst, place, place};
}

// Sorting -----------------------------------------------------------------------------------------

/// Zeros with `updates` at `places`; a place out of range has no effect.
static Expr scatter(Expr places, Value updates, ScatterReduction how = ScatterReduction::replace) {
  return places.with(places.getBuilder().createOrFold<ScatterOp>(
      places.getLoc(), places.type(), places.splat(0), places.get(), updates, how,
      elementDims(1, 0), allDims(1)));
}

static SmallVector<Expr> columnsOf(Expr x) {
  int64_t rows = x.shape()[0];
  SmallVector<Expr> columns;
  for (int64_t column = 0; column < x.shape()[1]; ++column)
    columns.push_back(x.slice(1, column, 1).reshape({rows}));
  return columns;
}

/// The positions of rows in order; equal rows stay in order of their positions.
static Expr orderOf(ArrayRef<Expr> columns) {
  std::optional<Expr> order;
  // By the last column first: a sort keeps the order of rows that are equal in its own column.
  for (Expr column : llvm::reverse(columns)) {
    Expr numbers = order ? gatherAlong(column, 0, *order) : column;
    Expr next = column.with(argsort(numbers, 0, numbers.shape()[0], /*descending=*/false));
    order = order ? gatherAlong(*order, 0, next) : next;
  }
  return *order;
}

/// For each element but the first of a list, whether it differs from the one before it.
static Expr differFromBefore(Expr list) {
  return differ(list, padAround(list.slice(0, 0, list.shape()[0] - 1), {1}, {0}));
}

/// The places of rows in order if groups of equal ones are in order of their first positions.
static Expr placeByPosition(Expr order, Expr isFirst, Expr group) {
  Expr none = group.splat(double(group.shape()[0]));
  Expr firsts = scatter(isFirst.select(group, none), order);
  Expr isFirstAt = scatter(order, isFirst.cast(order.element()));
  return gatherAlong(sumBefore(isFirstAt, 0), 0, gatherAlong(firsts, 0, group));
}

/// In order, equal rows are neighbours, and the first of them has the smallest position.
static Rows findByOrder(Expr x, bool isSorted) {
  OpBuilder &b = x.getBuilder();
  if (x.element().isInteger(1)) // no bools are sorted
    x = x.cast(b.getI32Type());
  // Comparisons take denormals for 0, but a sort would put elements between them and 0.
  if (isa<FloatType>(x.element())) {
    Expr zero = x.splat(0);
    x = x.compare(ComparePredicate::eq, zero).select(zero, x);
  }
  SmallVector<Expr> columns = columnsOf(x);
  Expr order = orderOf(columns);
  Expr number = order.with(IotaOp::create(b, x.getLoc(), order.type(), 0));
  Expr isFirst = number.compare(ComparePredicate::eq, number.splat(0));
  for (Expr column : columns)
    isFirst = isFirst.apply<OrOp>(differFromBefore(gatherAlong(column, 0, order)));
  Expr ones = isFirst.cast(b.getI64Type()), group = sumBefore(ones, 0) + ones - 1.0;
  Expr place = isSorted ? group : placeByPosition(order, isFirst, group);
  return {order, isFirst, place, scatter(order, place)};
}

static bool canSort(RankedTensorType x) {
  // No kernel sorts the widest unsigned integers.
  return x.getDimSize(0) >= fewestSorted && x.getDimSize(1) <= mostSortedColumns &&
         !x.getElementType().isUnsignedInteger(64);
}

static LogicalResult expectSensibleCount(Node &n, RankedTensorType x) {
  bool isSorted = canSort(x);
  int64_t count = x.getDimSize(0), width = x.getDimSize(1);
  int64_t most = isSorted ? mostSorted : mostCompared;
  if (count <= most && (isSorted || width <= mostComparisons / (count * count)))
    return success();
  return n.error() << "among " << count << " slices of " << width
                   << " elements is not supported: expected at most " << most
                   << (isSorted ? " slices" : " slices, and 2^34 comparisons");
}

static LogicalResult importUnique(Node &n) {
  bool isSorted = n.integer("sorted", 1);
  FailureOr<AlongAxis> slices = sliceByAxis(n);
  if (failed(slices))
    return failure();
  auto [x, dim] = *slices;
  if (x.type().getNumElements() == 0)
    return n.error() << "expected elements, found " << n.describeOperand(0);
  int64_t count = x.shape()[dim], width = x.type().getNumElements() / count;
  if (failed(expectSensibleCount(n, x.type().clone({count, width}))))
    return failure();
  SmallVector<int64_t> order{dim};
  llvm::append_range(order, otherDims(x.type().getRank(), {dim}));
  Expr table = x.transpose(order).reshape({count, width});
  Rows rows = canSort(table.type()) ? findByOrder(table, isSorted) : findByPairs(table, isSorted);

  Expr none = rows.place.splat(double(count));
  Expr firsts = scatter(rows.isFirst.select(rows.place, none), rows.position);
  Expr counts = scatter(rows.place, rows.place.splat(1), ScatterReduction::add);
  Value distinct = gatherAlong(x, dim, firsts);
  Value found = rows.isFirst.cast(n.builder().getI64Type()).sum({0});
  return success(succeeded(n.set(0, distinct, {dim, found})) &&
                 (!n.wants(1) || succeeded(n.set(1, firsts, {0, found}))) &&
                 (!n.wants(2) || succeeded(n.set(2, rows.inverse))) &&
                 (!n.wants(3) || succeeded(n.set(3, counts, {0, found}))));
}

void gradc::addUniqueOps(OpTable &ops) { ops["Unique"] = {importUnique, 1, 1}; }
