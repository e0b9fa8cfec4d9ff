// TopK: an element's place in the order is the number of elements before it. Counting them compares
// all pairs, in one kernel that does not depend on the data, so all results have the same bits on
// every device.
#include "dialects/Pch.h"

#include "compiler/import/onnx/Indices.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
struct TopK {
  int64_t dim, count;
  bool largest;
};
} // namespace

static FailureOr<TopK> readTopK(Node &n) {
  FailureOr<int64_t> dim = n.axis(n.integer("axis", -1), n.rank(0));
  TopK read{0, n.integer("k", 0), n.integer("largest", 1) != 0};
  n.ignore("sorted"); // without it, any order is allowed
  if (failed(dim) || failed(n.expect(0, Kind::Number)))
    return failure();
  read.dim = *dim;
  if (n.operandCount() > 1) {
    auto given = n.knownInts(1, "k");
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return n.error() << "expected one k, found " << n.describeOperand(1);
    read.count = given->front();
  }
  int64_t size = n.shape(0)[*dim];
  if (read.count < 0 || read.count > size)
    return n.error() << "expected k from 0 to " << size << ", the size of dim " << *dim << " of "
                     << n.describeOperand(0) << ", found " << read.count;
  if (size > mostSorted)
    return n.error() << "among " << size << " elements is not supported: expected at most "
                     << mostSorted;
  return read;
}

Expr gradc::placeInOrder(Expr x, int64_t dim, bool largestFirst) {
  OpBuilder &b = x.getBuilder();
  int64_t rank = x.type().getRank(), beside = dim + 1; // the dim of the elements to compare with
  SmallVector<int64_t> shape(x.shape());
  shape.insert(shape.begin() + beside, x.shape()[dim]);
  auto type = x.type().clone(shape);
  Expr own = x.broadcast(type, otherDims(rank + 1, {beside}));
  Expr other = x.broadcast(type, otherDims(rank + 1, {dim}));
  auto numbers = type.clone(b.getI32Type());
  Expr isEarlier = x.with(IotaOp::create(b, x.getLoc(), numbers, beside))
                       .compare(ComparePredicate::lt, IotaOp::create(b, x.getLoc(), numbers, dim));
  Expr more = other.compare(largestFirst ? ComparePredicate::gt : ComparePredicate::lt, own);
  Expr equal = other.compare(ComparePredicate::eq, own);
  if (isa<FloatType>(type.getElementType())) {
    Expr ownNan = own.compare(ComparePredicate::ne, own);
    Expr otherNan = other.compare(ComparePredicate::ne, other);
    Expr nanFirst = largestFirst ? otherNan.apply<AndOp>(ownNan.apply<NotOp>())
                                 : ownNan.apply<AndOp>(otherNan.apply<NotOp>());
    more = more.apply<OrOp>(nanFirst);
    equal = equal.apply<OrOp>(ownNan.apply<AndOp>(otherNan));
  }
  return more.apply<OrOp>(equal.apply<AndOp>(isEarlier)).cast(b.getI32Type()).sum({beside});
}

static LogicalResult importTopK(Node &n) {
  FailureOr<TopK> read = readTopK(n);
  if (failed(read))
    return failure();
  OpBuilder &b = n.builder();
  Expr place = placeInOrder(n.expr(0u), read->dim, read->largest);
  SmallVector<int64_t> shape(n.shape(0));
  shape[read->dim] = read->count;
  auto type = RankedTensorType::get(shape, b.getI64Type());
  auto dims = elementDims(n.rank(0), read->dim), all = allDims(n.rank(0));
  // Elements placed after the last result are updates out of range, which have no effect.
  Expr number = n.expr(IotaOp::create(b, n.loc(), place.type().clone(b.getI64Type()), read->dim));
  Value none = splat(b, n.loc(), type, 0);
  Value indices = b.createOrFold<ScatterOp>(n.loc(), type, none, place.get(), number,
                                            ScatterReduction::replace, dims, all);
  Value values = b.createOrFold<GatherOp>(n.loc(), n.operand(0), indices, dims, all);
  return success(succeeded(n.set(0, values)) && (!n.wants(1) || succeeded(n.set(1, indices))));
}

void gradc::addSortOps(OpTable &ops) { ops["TopK"] = {importTopK, 1, 2}; }
