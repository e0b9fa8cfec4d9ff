// Det: elimination with partial pivoting, unrolled over the columns.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Node.h"

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
  Value column = a.getBuilder().createOrFold<SliceOp>(a.getLoc(), a, ArrayRef<int64_t>{0, 0, 0},
                                                      ArrayRef<int64_t>{s[0], s[1], 1},
                                                      ArrayRef<int64_t>{1, 1, 1});
  return a.with(column).reshape({s[0], s[1]});
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
  Expr first =
      a.with(b.createOrFold<SliceOp>(a.getLoc(), a, ArrayRef<int64_t>{0, 0, 0},
                                     ArrayRef<int64_t>{batch, 1, size}, ArrayRef<int64_t>{1, 1, 1}))
          .reshape({batch, size});
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

static LogicalResult importDet(Node &n) {
  constexpr int64_t most = 64; // each column takes several kernels
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
  Expr product = a.with(splat(n.builder(), n.loc(), a.type().clone({batch}), 1));
  while (a.shape()[1] > 1) {
    Elimination step = eliminate(a);
    product = product * step.pivot;
    a = step.rest;
  }
  product = product * a.reshape({batch});
  return n.set(product.cast(element).reshape(shape.drop_back(2)));
}

void gradc::addDeterminantOps(OpTable &ops) { ops["Det"] = {importDet, 1, 1}; }
