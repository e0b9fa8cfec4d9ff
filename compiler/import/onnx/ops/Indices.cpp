// Checks indices that are known, and makes runs check the others.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/LinearIndex.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

FailureOr<Value> gradc::expectIndices(Node &n, Value indices, int64_t dim) {
  Type element = getElementTypeOrSelf(indices.getType());
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    indices = n.expr(indices).cast(n.builder().getI64Type());
  std::string of = "dim " + std::to_string(dim) + " of " + n.describeOperand(0);
  if (failed(expectInRange(n, indices, n.shape(0)[dim], of)))
    return failure();
  return indices;
}

/// Indices along a dim of `size` of which a run has only `count` elements: negative ones count from
/// the last of these, and those of other elements are out of range.
static Expr indicesWithin(Expr indices, Value count, int64_t size) {
  Expr x = indices.cast(indices.getBuilder().getI64Type());
  Expr elements = x.with(count).broadcastScalar(x.type());
  x = x.compare(ComparePredicate::lt, x.splat(0)).select(x + elements, x);
  Expr isThere = x.compare(ComparePredicate::ge, x.splat(0))
                     .apply<AndOp>(x.compare(ComparePredicate::lt, elements));
  return isThere.select(x, x.splat(double(size)));
}

/// Operand 1 with size 1 in the dims along which Expand repeats it, as exporters do for the
/// elements of a row. One of the others may have an extent that only a run knows.
static Expr onceEach(Node &n) {
  auto wide = n.operand(1).getDefiningOp<BroadcastOp>();
  std::optional<RunExtent> extent = n.extent(1);
  if (!wide || n.type(1).getNumElements() == 0 || !llvm::is_sorted(wide.getDims()) ||
      (extent && !llvm::is_contained(wide.getDims(), extent->dim)))
    return n.expr(1u);
  SmallVector<int64_t> shape(n.rank(1), 1);
  for (int64_t d : wide.getDims())
    shape[d] = n.shape(1)[d];
  return n.expr(wide.getOperand()).reshape(shape);
}

FailureOr<Value> gradc::expectIndicesOfRun(Node &n, int64_t dim, bool areWritten) {
  Expr indices = onceEach(n);
  if (auto data = n.extent(0); data && data->dim == dim)
    indices = indicesWithin(indices, data->count, n.shape(0)[dim]);
  SmallVector<int64_t> dims = allDims(n.rank(1));
  FailureOr<Value> checked = expectIndices(n, n.neutralBehindExtent(1, indices, dims, 0), dim);
  if (failed(checked))
    return failure();
  indices = n.expr(*checked);
  if (areWritten)
    indices = n.neutralBehindExtent(1, indices, dims, double(n.shape(0)[dim]));
  return n.broadcast(indices, n.shape(1));
}

LogicalResult gradc::expectInRange(Node &n, Value integers, int64_t limit, StringRef of) {
  ElementsAttr attribute;
  if (!matchPattern(integers, m_Constant(&attribute))) {
    n.getEntry().requireIndices(integers, limit, n.loc());
    return success();
  }
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute);
      dense && !dense.empty() && dense.isSplat())
    attribute = dense.resizeSplat(dense.getType().clone({1}));
  HostTensor known(attribute);
  for (int64_t i = 0; i < known.size(); ++i)
    if (int64_t index = known.getInt(i); index < -limit || index >= limit)
      return n.error() << "expected indices from " << -limit << " to " << limit - 1 << " for " << of
                       << ", found " << index;
  return success();
}

LogicalResult gradc::expectFromFront(Node &n, Expr integers, int64_t limit, StringRef of) {
  Expr x = integers.cast(n.builder().getI64Type());
  Expr isNegative = x.compare(ComparePredicate::lt, x.splat(0));
  return expectInRange(n, isNegative.select(x - double(limit), x), limit, of);
}

LogicalResult gradc::expectElementIndices(Node &n, int64_t dim) {
  if (failed(n.expect(1, Kind::Int)) || failed(n.expectRank(1, n.rank(0))))
    return failure();
  for (auto [d, from, to] : llvm::enumerate(n.shape(0), n.shape(1)))
    if (int64_t(d) != dim && to > from)
      return n.error() << "expected indices with at most " << from << " elements in dim " << d
                       << ", as " << n.describeOperand(0) << " has, found " << n.describeOperand(1);
  return success();
}

FailureOr<IndexTuples> gradc::expectTuples(Node &n, int64_t batchDims, bool keepsIndex) {
  if (failed(n.expect(1, Kind::Int)))
    return failure();
  int64_t rank = n.rank(0), outer = n.rank(1) - 1;
  if (outer < 0)
    return n.error() << "expected indices of rank 1 or more, found " << n.describeOperand(1);
  int64_t places = n.shape(1).back();
  if (batchDims < 0 || batchDims > outer || places < 1 || batchDims + places > rank)
    return n.error() << "expected at most " << rank << " batch dims and indices a tuple, found "
                     << batchDims << " and " << n.describeOperand(1) << " for "
                     << n.describeOperand(0);
  if (n.shape(0).take_front(batchDims) != n.shape(1).take_front(batchDims))
    return n.error() << "expected " << batchDims << " equal batch dims, found "
                     << n.describeOperand(0) << " and " << n.describeOperand(1);
  IndexTuples tuples;
  Expr given = n.neutralBehindExtent(1, n.expr(1), allDims(n.rank(1)), 0);
  int64_t free = batchDims; // dims of the tuples from here on are no dim of the data yet
  for (int64_t d = 0; d < rank; ++d) {
    int64_t place = d - batchDims;
    if (place < 0 || place >= places) {
      tuples.dims.push_back(place < 0 ? d : place - places + outer);
      continue;
    }
    Value one = given.slice(outer, place, 1).reshape(n.shape(1).drop_back());
    bool isKept = keepsIndex && place == places - 1;
    if (auto along = isKept ? std::nullopt : dimCountedBy(one, n.shape(0)[d], free)) {
      tuples.dims.push_back(*along);
      free = *along + 1;
      continue;
    }
    FailureOr<Value> indices = expectIndices(n, one, d);
    if (failed(indices))
      return failure();
    tuples.dims.push_back(-1 - int64_t(tuples.indices.size()));
    tuples.indices.push_back(*indices);
  }
  tuples.picked.assign(n.shape(1).begin(), n.shape(1).end() - 1);
  llvm::append_range(tuples.picked, n.shape(0).drop_front(batchDims + places));
  return tuples;
}

SmallVector<int64_t> gradc::allDims(int64_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(0, rank));
}

SmallVector<int64_t> gradc::elementDims(int64_t rank, int64_t dim) {
  SmallVector<int64_t> dims = allDims(rank);
  dims[dim] = -1;
  return dims;
}

Expr gradc::gatherAlong(Expr x, int64_t dim, Value indices) {
  return x.with(x.getBuilder().createOrFold<GatherOp>(
      x.getLoc(), x.get(), indices, elementDims(x.type().getRank(), dim), ArrayRef<int64_t>{dim}));
}
