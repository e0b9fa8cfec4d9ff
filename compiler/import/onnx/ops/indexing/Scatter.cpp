// ScatterElements and ScatterND with all reductions and PyTorch's mean, TensorScatter, and
// MaxUnpool: combine updates with elements at indices.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "compiler/import/onnx/ops/Window.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static FailureOr<ScatterReduction> expectReduction(Node &n) {
  StringRef name = n.string("reduction", "none");
  static const std::pair<StringRef, ScatterReduction> known[] = {
      {"none", ScatterReduction::replace},
      {"add", ScatterReduction::add},
      {"mul", ScatterReduction::mul},
      {"max", ScatterReduction::max},
      {"min", ScatterReduction::min}};
  for (auto [spelling, reduction] : known)
    if (name == spelling) {
      if (reduction != ScatterReduction::replace && failed(n.expect(0, Kind::Number)))
        return failure();
      return reduction;
    }
  return n.error() << "expected reduction none, add, mul, max or min, found \"" << name << "\"";
}

static LogicalResult expectUpdates(Node &n, ArrayRef<int64_t> shape) {
  if (failed(n.expectSameElement(0, 2)))
    return failure();
  if (n.shape(2) == shape)
    return success();
  return n.error() << "expected updates " << formatDims(shape) << " for " << n.describeOperand(0)
                   << " and " << n.describeOperand(1) << ", found " << n.describeOperand(2);
}

/// Whether a run has as many indices as updates.
static LogicalResult expectSameExtent(Node &n) {
  auto indices = n.extent(1), updates = n.extent(2);
  bool isSame = indices && updates
                    ? indices->dim == updates->dim && indices->count == updates->count
                    : !indices && !updates;
  if (isSame)
    return success();
  return n.error() << "expected indices and updates with the same extent that only a run knows, "
                      "found "
                   << n.describeOperand(1) << " and " << n.describeOperand(2);
}

/// The updates, constant behind their extent. Their indices there are out of range, where the
/// gradient would read that of the nearest element.
static Expr updatesOfRun(Node &n, ScatterReduction how) {
  bool getsGradient = n.mayDifferentiate() && isa<FloatType>(n.element(2)) &&
                      how != ScatterReduction::replace; // which gives it to the last update alone
  return getsGradient ? n.neutralBehindExtent(2, n.expr(2u), allDims(n.rank(2)), 0) : n.expr(2u);
}

/// Sets the result to operand 0 with updates, of the same extent.
static LogicalResult setScattered(Node &n, Value result) {
  auto extent = n.extent(0);
  return n.setLike(0, result, extent ? extent->dim : 0);
}

/// Whether the node is a mean that replaces elements instead, and if so, whether the elements of
/// operand 0 take part. Where they do not, PyTorch's exporter has written two nodes with the same
/// record: the first replaces elements by zeros, to which the second adds.
static std::optional<bool> findMean(Node &n, ScatterReduction how) {
  std::optional<bool> takesPart = n.scatterMean();
  bool isFirst = takesPart && !*takesPart && matchPattern(n.operand(2), m_AnyZeroFloat());
  return isFirst || how != ScatterReduction::replace ? std::nullopt : takesPart;
}

static LogicalResult importScatterElements(Node &n) {
  FailureOr<int64_t> dim = n.axis(n.integer("axis", 0), n.rank(0));
  FailureOr<ScatterReduction> how = expectReduction(n);
  if (failed(dim) || failed(how) || failed(expectElementIndices(n, *dim)) ||
      failed(expectUpdates(n, n.shape(1))) || failed(expectSameExtent(n)))
    return failure();
  std::optional<bool> mean = findMean(n, *how);
  if (mean && failed(n.expect(0, Kind::Float)))
    return failure();
  if (mean)
    how = ScatterReduction::add;
  FailureOr<Value> indices = expectIndicesOfRun(n, *dim, /*areWritten=*/true);
  if (failed(indices))
    return failure();
  // If another dim of the data is longer, updates are padded to it. The padding has an index out of
  // range and therefore no effect.
  Value updates = updatesOfRun(n, *how);
  SmallVector<int64_t> high, zeros(n.rank(0), 0);
  for (auto [d, from, to] : llvm::enumerate(n.shape(0), n.shape(1)))
    high.push_back(int64_t(d) == *dim ? 0 : from - to);
  if (high != zeros) {
    auto pad = [&](Value value, double with) {
      return n.builder().createOrFold<PadOp>(n.loc(), value, zeros, high, zeros, APFloat(with));
    };
    indices = pad(*indices, double(n.shape(0)[*dim]));
    updates = pad(updates, 0);
  }
  auto scatter = [&](Value init, Value with) {
    return n.expr(n.builder().createOrFold<ScatterOp>(n.loc(), n.type(0), init, *indices, with,
                                                      *how, elementDims(n.rank(0), *dim),
                                                      allDims(n.rank(0))));
  };
  Expr result = scatter(n.operand(0), updates);
  if (mean) {
    Expr counts = scatter(result.splat(*mean ? 1 : 0), n.expr(updates).splat(1));
    result = result / counts.apply<MaxOp>(counts.splat(1));
  }
  return setScattered(n, result);
}

/// Whether updates have the extent of the data, in a dim along which no index chooses: both have
/// the same elements there.
static bool haveExtentOfData(Node &n) {
  auto data = n.extent(0), updates = n.extent(2);
  return data && updates && !n.extent(1) && data->count == updates->count &&
         updates->dim == data->dim - n.shape(1).back() + n.rank(1) - 1;
}

static LogicalResult importScatterND(Node &n) {
  FailureOr<ScatterReduction> how = expectReduction(n);
  FailureOr<IndexTuples> tuples = expectTuples(n, /*batchDims=*/0, /*keepsIndex=*/true);
  if (failed(how) || failed(tuples) || failed(expectUpdates(n, tuples->picked)))
    return failure();
  auto data = n.extent(0), own = n.extent(1);
  if (data && data->dim < n.shape(1).back())
    return n.refuseExtent(0);
  if (own && own->dim == n.rank(1) - 1)
    return n.refuseExtent(1);
  if (!haveExtentOfData(n) && failed(expectSameExtent(n)))
    return failure();
  if (own) // where a run has no update, the index is out of range, which has no effect
    tuples->indices.back() = n.neutralBehindExtent(1, n.expr(tuples->indices.back()), {own->dim},
                                                   double(n.shape(0)[n.shape(1).back() - 1]));
  Value updates = updatesOfRun(n, *how);
  return setScattered(n, n.builder().createOrFold<ScatterOp>(n.loc(), n.type(0), n.operand(0),
                                                             tuples->indices, updates, *how,
                                                             tuples->dims, allDims(n.rank(1) - 1)));
}

/// Writes consecutive steps of a cache, starting at a step given per sample of the batch.
static LogicalResult importTensorScatter(Node &n) {
  StringRef mode = n.string("mode", "linear");
  FailureOr<int64_t> dim = n.axis(n.integer("axis", -2), n.rank(0));
  if (failed(dim) || failed(n.expectSameElement(0, 1)) || failed(n.expectRank(1, n.rank(0))))
    return failure();
  if (mode != "linear" && mode != "circular")
    return n.error() << "expected mode linear or circular, found \"" << mode << '"';
  int64_t cached = n.shape(0)[*dim], steps = n.shape(1)[*dim];
  SmallVector<int64_t> shape(n.shape(0));
  shape[*dim] = steps;
  if (*dim == 0 || steps > cached || n.shape(1) != ArrayRef(shape))
    return n.error() << "expected an update with at most " << cached << " steps along dim " << *dim
                     << ", which is not 0, for " << n.describeOperand(0) << ", found "
                     << n.describeOperand(1);
  OpBuilder &b = n.builder();
  auto type = RankedTensorType::get({shape[0], steps}, b.getI64Type());
  Expr indices = n.expr(IotaOp::create(b, n.loc(), type, 1));
  if (n.operand(2)) {
    if (failed(n.expect(2, Kind::Int)) || failed(n.expectRank(2, 1)))
      return failure();
    if (n.shape(2)[0] != shape[0])
      return n.error() << "expected " << shape[0] << " write indices, found "
                       << n.describeOperand(2);
    indices = indices + n.expr(2u).cast(b.getI64Type()).broadcast(type, {0});
  }
  if (mode == "circular" && cached > 0)
    indices = indices.apply<RemOp>(indices.splat(double(cached)));
  FailureOr<Value> checked = expectIndices(n, indices, *dim);
  if (failed(checked))
    return failure();
  return n.set(b.createOrFold<ScatterOp>(n.loc(), n.type(0), n.operand(0), *checked, n.operand(1),
                                         ScatterReduction::replace, elementDims(n.rank(0), *dim),
                                         ArrayRef<int64_t>{0, *dim}));
}

/// The sizes of the picture that a pool with this window reduced to operand 0.
static FailureOr<SmallVector<int64_t>> unpooledShape(Node &n) {
  FailureOr<Window> window = readWindow(n);
  if (failed(window))
    return failure();
  SmallVector<int64_t> shape(n.shape(0));
  for (int64_t d = 0; d < window->rank(); ++d)
    shape[d + 2] = (shape[d + 2] - 1) * window->strides[d] + window->extent(d) - window->low[d] -
                   window->high[d];
  if (failed(n.expectSensible(shape)))
    return failure();
  return shape;
}

/// Indices count through all planes, and the indices of a plane stay in that plane, so each plane
/// is a separate scatter. A larger output_shape adds zeros after the picture.
static LogicalResult importMaxUnpool(Node &n) {
  FailureOr<SmallVector<int64_t>> shape = unpooledShape(n);
  if (failed(n.expect(0, Kind::Float)) || failed(n.expect(1, Kind::Int)) || failed(shape))
    return failure();
  SmallVector<int64_t> whole(*shape), zeros(n.rank(0), 0), high;
  if (n.operand(2)) {
    auto given = n.knownInts(2, "the output's shape");
    if (failed(given))
      return failure();
    whole = *given;
  }
  bool fits = whole.size() == shape->size() && n.shape(1) == n.shape(0);
  for (auto [to, from] : llvm::zip(whole, *shape)) {
    fits &= to >= from;
    high.push_back(to - from);
  }
  fits &= high[0] == 0 && high[1] == 0;
  if (!fits)
    return n.error() << "expected an index for each element of " << n.describeOperand(0)
                     << " and an output of at least " << formatDims(*shape) << ", found "
                     << n.describeOperand(1) << " and " << formatDims(whole);
  OpBuilder &b = n.builder();
  int64_t outer[] = {whole[0], whole[1]};
  auto pixels = [](ArrayRef<int64_t> dims) {
    int64_t count = 1;
    for (int64_t d : dims.drop_front(2))
      count *= d;
    return count;
  };
  int64_t area = pixels(*shape), pooled = pixels(n.shape(0));
  Expr indices = n.expr(1u).cast(b.getI64Type()).reshape({outer[0], outer[1], pooled});
  auto count = [&](int64_t d) {
    return indices.with(IotaOp::create(b, n.loc(), indices.type(), d));
  };
  Expr plane = count(0) * double(outer[1]) + count(1);
  indices = indices - plane * double(area);
  // An index into an earlier plane must not count from the end.
  Expr outside = indices.splat(double(area));
  indices = indices.compare(ComparePredicate::lt, indices.splat(0)).select(outside, indices);
  if (failed(expectInRange(n, indices, area, "a plane of the output")))
    return failure();
  auto type = RankedTensorType::get({outer[0], outer[1], area}, n.element(0));
  Expr updates = n.expr(0u).reshape({outer[0], outer[1], pooled});
  Value y = ScatterOp::create(b, n.loc(), type, splat(b, n.loc(), type, 0), indices.get(), updates,
                              ScatterReduction::replace, ArrayRef<int64_t>{0, 1, -1}, allDims(3));
  return n.set(padAround(n.expr(y).reshape(*shape), zeros, high));
}

void gradc::addScatterOps(OpTable &ops) {
  ops["Scatter"] = {importScatterElements, 3, 3};
  ops["ScatterElements"] = {importScatterElements, 3, 3};
  ops["ScatterND"] = {importScatterND, 3, 3};
  ops["TensorScatter"] = {importTensorScatter, 2, 3};
  ops["MaxUnpool"] = {importMaxUnpool, 2, 3};
  takeExtents(ops, TakesExtents::itself, {"Scatter", "ScatterElements", "ScatterND"});
}
