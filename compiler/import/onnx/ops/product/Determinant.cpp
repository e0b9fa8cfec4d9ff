// Det: elimination with partial pivoting, in loops over columns and, for the last few, unrolled.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// A matrix per batch, [batch, rows, columns], without the rows and columns before the given
/// starts.
static Expr lowerRight(Expr a, int64_t row, int64_t column) {
  ArrayRef<int64_t> s = a.shape();
  return a.with(a.getBuilder().createOrFold<SliceOp>(
      a.getLoc(), a, ArrayRef<int64_t>{0, row, column},
      ArrayRef<int64_t>{s[0], s[1] - row, s[2] - column}, ArrayRef<int64_t>{1, 1, 1}));
}

static Expr firstColumn(Expr a) {
  ArrayRef<int64_t> s = a.shape();
  return a.slice(2, 0, 1).reshape({s[0], s[1]});
}

namespace {
struct Elimination {
  Expr pivot; ///< [batch], with the sign of the exchange of rows
  Expr rest;  ///< [batch, rows - 1, columns - 1]
};
} // namespace

/// Swaps the first row with the row that has the largest first element, and subtracts multiples of
/// it from the others.
static Elimination eliminate(Expr a) {
  OpBuilder &b = a.getBuilder();
  int64_t batch = a.shape()[0], size = a.shape()[1];
  Expr chosen = a.with(b.createOrFold<ArgmaxOp>(a.getLoc(), firstColumn(a).apply<AbsOp>(), 1));
  Expr pivotRow = a.with(b.createOrFold<GatherOp>(
      a.getLoc(), a, chosen.get(), ArrayRef<int64_t>{0, -1, 1}, ArrayRef<int64_t>{0}));
  // The first row moves to the place of the chosen row.
  Expr first = a.slice(1, 0, 1).reshape({batch, size});
  auto numbers = a.type().clone(b.getI64Type());
  Expr isChosen = a.with(IotaOp::create(b, a.getLoc(), numbers, 1))
                      .compare(ComparePredicate::eq, chosen.broadcast(numbers, {0}));
  Expr exchanged = lowerRight(isChosen.select(first.broadcast(a.type(), {0, 2}), a), 1, 0);

  Expr pivot = firstColumn(pivotRow.reshape({batch, 1, size})).reshape({batch});
  Expr isZero = pivot.compare(ComparePredicate::eq, pivot.splat(0));
  Expr divisor = isZero.select(pivot.splat(1), pivot); // the column is all zeros
  auto type = a.type().clone({batch, size - 1, size - 1});
  Expr factors = firstColumn(exchanged);
  factors = factors / divisor.broadcast(factors.type(), {0});
  Expr row = lowerRight(pivotRow.reshape({batch, 1, size}), 0, 1).reshape({batch, size - 1});
  Expr rest =
      lowerRight(exchanged, 0, 1) - factors.broadcast(type, {0, 1}) * row.broadcast(type, {0, 2});
  Expr stays = chosen.compare(ComparePredicate::eq, chosen.splat(0));
  return {stays.select(pivot, -pivot), rest};
}

/// x[..] with the elements at `index`, as grad.gather numbers the dims.
static Expr gather(Expr x, Value index, ArrayRef<int64_t> dims, ArrayRef<int64_t> indexDims) {
  return x.with(x.getBuilder().createOrFold<GatherOp>(x.getLoc(), x.get(), index, dims, indexDims));
}

/// A step of a loop that carries `a` and the product of its pivots: exchanges row `k` with the row
/// of those from `k` on that has the largest element in column `k`, and subtracts multiples of it
/// from the rows below. No later step reads the rows up to `k`, so they may have any values.
static SmallVector<Value> eliminateColumn(Expr a, Expr product, Expr k) {
  OpBuilder &b = a.getBuilder();
  Expr column = gather(a, k, {0, 1, -1}, {}), row = gather(a, k, {0, -1, 1}, {});
  auto numbers = column.type().clone(b.getI64Type());
  Expr place = a.with(IotaOp::create(b, a.getLoc(), numbers, 1));
  Expr current = k.broadcastScalar(numbers);
  Expr remains = place.compare(ComparePredicate::ge, current);
  Expr sizes = remains.select(column.apply<AbsOp>(), column.splat(-1));
  Expr chosen = a.with(b.createOrFold<ArgmaxOp>(a.getLoc(), sizes, 1));
  Expr isChosen = place.compare(ComparePredicate::eq, chosen.broadcast(numbers, {0}));
  Expr pivotRow = gather(a, chosen, {0, -1, 1}, {0}), pivot = gather(pivotRow, k, {0, -1}, {});

  Expr isZero = pivot.compare(ComparePredicate::eq, pivot.splat(0));
  Expr divisor = isZero.select(pivot.splat(1), pivot); // the rest of the column is all zeros
  Expr first = gather(row, k, {0, -1}, {}).broadcast(column.type(), {0});
  // Selected before the division: of rows above, a quotient might overflow.
  Expr below = place.compare(ComparePredicate::gt, current)
                   .select(isChosen.select(first, column), column.splat(0));
  Expr factors = below / divisor.broadcast(column.type(), {0});
  Expr exchanged = isChosen.broadcast(a.type().clone(b.getI1Type()), {0, 1})
                       .select(row.broadcast(a.type(), {0, 2}), a);
  Expr rest =
      exchanged - factors.broadcast(a.type(), {0, 1}) * pivotRow.broadcast(a.type(), {0, 2});
  Expr stays = chosen.compare(ComparePredicate::eq, k.broadcastScalar(chosen.type()));
  return {rest, product * stays.select(pivot, -pivot)};
}

/// Eliminates `steps` columns of `a` in a loop, and multiplies `product` by their pivots.
static void eliminateInLoop(Expr &a, Expr &product, int64_t steps) {
  OpBuilder &b = a.getBuilder();
  Location loc = a.getLoc();
  auto numbers = RankedTensorType::get({steps}, b.getI64Type());
  Value columns = IotaOp::create(b, loc, numbers, 0);
  auto scan = buildScan(b, loc, steps, /*reverse=*/false, {{a, product}, {columns}, {}},
                        [&](OpBuilder &body, Block::BlockArgListType arguments) {
                          Expr matrix(body, loc, arguments[0]);
                          return eliminateColumn(matrix, matrix.with(arguments[1]),
                                                 matrix.with(arguments[2]));
                        });
  a = lowerRight(a.with(scan.getResult(0)), steps, steps);
  product = a.with(scan.getResult(1));
}

/// The determinants of [batch, rows, rows]. A loop computes on all of its matrix, so one eliminates
/// half of the columns, and the next starts with a quarter of the elements.
static Expr determinant(Expr a) {
  constexpr int64_t mostUnrolled = 4; // each column takes several kernels
  int64_t batch = a.shape()[0], size = a.shape()[1];
  Expr last = lowerRight(a, size - 1, size - 1).reshape({batch});
  // A constant would have the rows of the largest batch; a loop starts with those of the run.
  Expr product = size > mostUnrolled ? zerosWithRowsOf(last) + 1.0 : last.splat(1);
  while (a.shape()[1] > mostUnrolled)
    eliminateInLoop(a, product, a.shape()[1] / 2);
  while (a.shape()[1] > 1) {
    Elimination step = eliminate(a);
    product = product * step.pivot;
    a = step.rest;
  }
  return product * a.reshape({batch});
}

static LogicalResult importDet(Node &n) {
  // With a gradient, the loops keep a matrix for each column: of 256 rows, some 38 MB.
  constexpr int64_t most = 256;
  if (failed(n.expect(0, Kind::Float)))
    return failure();
  ArrayRef<int64_t> shape = n.shape(0);
  int64_t size = shape.empty() ? 0 : shape.back();
  if (shape.size() < 2 || shape[shape.size() - 2] != size || size < 1 || size > most)
    return n.error() << "expected square matrices of 1 to " << most << " rows, found "
                     << n.describeOperand(0);
  int64_t batch = 1;
  for (int64_t d : shape.drop_back(2))
    batch *= d;
  Type element = n.element(0);
  Expr a = n.expr(0u).reshape({batch, size, size});
  if (element.getIntOrFloatBitWidth() < 32)
    a = a.cast(n.builder().getF32Type());
  return n.set(determinant(a).cast(element).reshape(shape.drop_back(2)));
}

void gradc::addDeterminantOps(OpTable &ops) { ops["Det"] = {importDet, 1, 1}; }
