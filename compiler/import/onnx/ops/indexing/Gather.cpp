// Gather, GatherElements, GatherND, and ReverseSequence: elements at indices, which may be known at
// compile time.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/Indices.h"
#include "compiler/import/onnx/ops/LinearIndex.h"
#include "compiler/import/onnx/ops/Pick.h"
#include "dialects/grad/RepeatedDims.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// Picks known indices of a known tensor: shape arithmetic, and tables.
static Value gatherKnown(Node &n, const HostTensor &data, ArrayRef<int64_t> indices, int64_t dim,
                         ArrayRef<int64_t> shape) {
  HostTensor result(RankedTensorType::get(shape, data.getElementType()));
  int64_t width = elementBytes(data.getElementType()), inner = width, outer = 1;
  for (int64_t d = 0; d < int64_t(data.getShape().size()); ++d)
    (d < dim ? outer : inner) *= d == dim ? 1 : data.getShape()[d];
  char *to = result.mutableBytes().data();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t index : indices) {
      std::copy_n(data.bytes().data() + (o * data.getShape()[dim] + index) * inner, inner, to);
      to += inner;
    }
  return n.constant(result);
}

/// Indices known at compile time become slices if few slices suffice.
static Value gatherByMoves(Node &n, const HostTensor &known, int64_t dim, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> indices;
  for (int64_t i = 0; i < known.size(); ++i)
    indices.push_back(known.getInt(i) < 0 ? known.getInt(i) + n.shape(0)[dim] : known.getInt(i));
  ElementsAttr data;
  int64_t bytes = bytesOf(RankedTensorType::get(shape, n.element(0)));
  if (matchPattern(n.operand(0), m_Constant(&data)) && bytes <= foldLimitBytes)
    return gatherKnown(n, HostTensor(data), indices, dim, shape);
  Value picked = pick(n.expr(0u), dim, indices);
  return picked ? n.expr(picked).reshape(shape).get() : Value();
}

/// Sets the result with the extent of an operand: the extent of the indices along dim `dim` of the
/// data, or the extent of the data along another dim.
static LogicalResult setGathered(Node &n, Value gathered, int64_t dim) {
  auto data = n.extent(0), indices = n.extent(1);
  if (data && data->dim == dim)
    data = std::nullopt; // indices have picked elements that the run has
  if (indices && !data)
    return n.setLike(1, gathered, dim + indices->dim);
  if (data && !indices)
    return n.setLike(0, gathered, data->dim < dim ? data->dim : data->dim + n.rank(1) - 1);
  if (data || indices)
    return n.error() << "cannot take " << n.describeOperand(0) << " and " << n.describeOperand(1)
                     << ": only a run knows the extent of an indexed dim";
  return n.set(gathered);
}

/// The shape of the elements at indices along a dim, which have these dims of operand 1.
static SmallVector<int64_t> gatheredShape(Node &n, int64_t dim, ArrayRef<int64_t> indexDims) {
  SmallVector<int64_t> shape(n.shape(0).take_front(dim));
  for (int64_t d : indexDims)
    shape.push_back(n.shape(1)[d]);
  llvm::append_range(shape, n.shape(0).drop_front(dim + 1));
  return shape;
}

/// The dim of these elements that each dim of operand 0 becomes; -1: the indices choose along it.
static SmallVector<int64_t> placesOf(Node &n, int64_t dim, int64_t indexDims) {
  SmallVector<int64_t> places;
  for (int64_t d = 0; d < n.rank(0); ++d)
    places.push_back(d < dim ? d : d == dim ? -1 : d + indexDims - 1);
  return places;
}

/// The rows of a table at indices; the row of padding, which they may read as any other, gets no
/// gradient.
static Expr withoutGradientOfPadding(Node &n, Expr rows) {
  std::optional<int64_t> padding = n.paddingRow();
  if (!padding || !n.mayDifferentiate() || !isa<FloatType>(n.element(0)))
    return rows;
  Expr indices = n.expr(1u);
  Expr isPadding = indices.compare(ComparePredicate::eq, indices.splat(double(*padding)))
                       .broadcast(rows.type().clone(n.builder().getI1Type()), allDims(n.rank(1)));
  return isPadding.select(rows.splat(0), rows).apply<StraightThroughOp>(rows);
}

/// Whether an index is that of the largest of at most `size` elements.
static bool isOfLargest(Value index, int64_t size) {
  Operation *op = index.getDefiningOp();
  while (isa_and_nonnull<ReshapeOp, CastOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto largest = dyn_cast_or_null<ArgmaxOp>(op);
  return largest && cast<RankedTensorType>(largest.getOperand().getType())
                            .getDimSize(int64_t(largest.getDim())) <= size;
}

/// Older exporters of PyTorch write x[arange(n), j] as x.flatten()[i * size + j]. Row i has that
/// element, in runs of any number of rows, if j is below the size, as the index of a largest
/// element is. Null if nothing tells that.
static Value gatherWithinRows(Node &n) {
  auto sum = n.operand(1).getDefiningOp<AddOp>();
  if (!sum || n.rank(1) != 1 || !n.element(1).isSignlessInteger(64))
    return {};
  int64_t rows = n.shape(1)[0], elements = n.shape(0)[0];
  if (rows < 2 || elements == 0 || elements % rows != 0)
    return {};
  int64_t size = elements / rows;
  auto countsRows = [&](Value starts) {
    return llvm::all_of(ArrayRef{RunRows::all, RunRows::oneLess}, [&](RunRows run) {
      std::optional<LinearIndex> linear = findLinear(starts, run);
      return linear && linear->start == 0 && linear->strides[0] == size;
    });
  };
  Value place = sum.getLhs(), starts = sum.getRhs();
  if (!countsRows(starts))
    std::swap(place, starts);
  if (!countsRows(starts) || !isOfLargest(place, size))
    return {};
  SmallVector<int64_t> shape{rows, size}, dims{0, -1};
  llvm::append_range(shape, n.shape(0).drop_front());
  llvm::append_range(dims, llvm::seq<int64_t>(1, n.rank(0)));
  return n.builder().createOrFold<GatherOp>(n.loc(), n.expr(0u).reshape(shape).get(), place, dims,
                                            ArrayRef<int64_t>{0});
}

static LogicalResult importGather(Node &n) {
  FailureOr<int64_t> dim = n.axis(n.integer("axis", 0), n.rank(0));
  if (failed(dim) || failed(n.expect(1, Kind::Int)))
    return failure();
  SmallVector<int64_t> shape = gatheredShape(n, *dim, allDims(n.rank(1)));
  if (failed(n.expectSensible(shape)))
    return failure();
  auto data = n.extent(0);
  // Older exporters of PyTorch number the elements of x in x.flatten()[i * n + j].
  if (!data && !n.extent(1) && countsInOrder(n.expr(1u), n.shape(0)[*dim]))
    return n.set(n.expr(0u).reshape(shape));
  if (!data && !n.extent(1) && *dim == 0)
    if (Value within = gatherWithinRows(n))
      return n.set(within);
  bool isWithinExtent = data && data->dim == *dim;
  FailureOr<Value> indices = expectIndicesOfRun(n, *dim, /*areWritten=*/false);
  if (failed(indices))
    return failure();
  SmallVector<int64_t> kept = allDims(n.rank(1));
  auto known = isWithinExtent ? std::nullopt : n.tryKnown(1);
  // Known positions of all rows of a batch are those of one row.
  if (known)
    known = HostTensor(dropRepeatedDims(known->toAttribute(), kept));
  Value gathered = known ? gatherByMoves(n, *known, *dim, gatheredShape(n, *dim, kept)) : Value();
  if (!gathered) {
    if (known)
      indices = expectIndices(n, n.constant(*known), *dim);
    gathered = n.builder().createOrFold<GatherOp>(
        n.loc(), n.operand(0), *indices, placesOf(n, *dim, kept.size()),
        llvm::to_vector(llvm::seq<int64_t>(*dim, *dim + int64_t(kept.size()))));
  }
  SmallVector<int64_t> places;
  for (int64_t place : placesOf(n, *dim, n.rank(1)))
    if (place >= 0)
      places.push_back(place);
    else
      for (int64_t d : kept)
        places.push_back(*dim + d);
  Expr rows = n.expr(gathered).broadcast(n.type(0).clone(shape), places);
  return setGathered(n, *dim == 0 ? withoutGradientOfPadding(n, rows) : rows, *dim);
}

static LogicalResult importGatherElements(Node &n) {
  FailureOr<int64_t> dim = n.axis(n.integer("axis", 0), n.rank(0));
  if (failed(dim) || failed(expectElementIndices(n, *dim)))
    return failure();
  auto own = n.extent(1);
  if (auto data = n.extent(0);
      data && data->dim != *dim && !(own && own->dim == data->dim && own->count == data->count))
    return n.refuseExtent(0);
  FailureOr<Value> indices = expectIndicesOfRun(n, *dim, /*areWritten=*/false);
  if (failed(indices))
    return failure();
  // The data may be longer in other dims; only their beginning is read.
  SmallVector<int64_t> sizes(n.shape(1)), ones(n.rank(0), 1), zeros(n.rank(0), 0);
  sizes[*dim] = n.shape(0)[*dim];
  Value data = n.operand(0);
  if (n.shape(0) != ArrayRef(sizes))
    data = n.builder().createOrFold<SliceOp>(n.loc(), data, zeros, sizes, ones);
  Value gathered = n.builder().createOrFold<GatherOp>(
      n.loc(), data, *indices, elementDims(n.rank(0), *dim), allDims(n.rank(0)));
  return n.setLike(1, gathered, own ? own->dim : 0);
}

static LogicalResult importGatherND(Node &n) {
  int64_t batch = n.integer("batch_dims", 0);
  FailureOr<IndexTuples> tuples = expectTuples(n, batch, /*keepsIndex=*/false);
  if (failed(tuples) || failed(n.expectSensible(tuples->picked)))
    return failure();
  auto extent = n.extent(1);
  if (n.extent(0) || (extent && extent->dim == n.rank(1) - 1))
    return n.error() << "cannot take " << n.describeOperand(0) << " and " << n.describeOperand(1)
                     << ": only a run knows the extent of an indexed dim";
  if (tuples->indices.empty())
    return n.set(n.expr(0u).broadcast(n.type(0).clone(tuples->picked), tuples->dims));
  Value gathered = n.builder().createOrFold<GatherOp>(n.loc(), n.operand(0), tuples->indices,
                                                      tuples->dims, allDims(n.rank(1) - 1));
  return n.setLike(1, gathered, extent ? extent->dim : 0);
}

/// Step t of a sequence of length l is step l - 1 - t of the data; past its end, it is step t.
static LogicalResult importReverseSequence(Node &n) {
  int64_t batch = n.integer("batch_axis", 1), time = n.integer("time_axis", 0);
  if (failed(n.expect(1, Kind::Int)) || failed(n.expectRank(1, 1)))
    return failure();
  if (n.rank(0) < 2 || batch + time != 1 || batch * time != 0 || n.shape(0)[batch] != n.shape(1)[0])
    return n.error() << "expected batch_axis and time_axis 0 and 1 or 1 and 0, and a length for "
                        "each sequence, found "
                     << batch << " and " << time << ", " << n.describeOperand(0) << " and "
                     << n.describeOperand(1);
  OpBuilder &b = n.builder();
  auto type = RankedTensorType::get(n.shape(0).take_front(2), b.getI64Type());
  Expr lengths = n.expr(1u).cast(b.getI64Type());
  int64_t steps = n.shape(0)[time];
  if (failed(expectInRange(n, lengths, steps + 1, "the length of a sequence")))
    return failure();
  lengths = lengths.broadcast(type, {batch});
  Expr step = n.expr(IotaOp::create(b, n.loc(), type, time));
  Expr indices = step.compare(ComparePredicate::lt, lengths).select(lengths - step - 1.0, step);
  return n.set(b.createOrFold<GatherOp>(n.loc(), n.operand(0), indices.get(),
                                        elementDims(n.rank(0), time), ArrayRef<int64_t>{0, 1}));
}

void gradc::addGatherOps(OpTable &ops) {
  ops["Gather"] = {importGather, 2, 2};
  ops["GatherElements"] = {importGatherElements, 2, 2};
  ops["GatherND"] = {importGatherND, 2, 2};
  takeExtents(ops, TakesExtents::itself, {"Gather", "GatherElements", "GatherND"});
  ops["ReverseSequence"] = {importReverseSequence, 2, 2};
  takeNarrow(ops, TakesNarrow::moved, {"Gather", "GatherElements", "GatherND"});
}
