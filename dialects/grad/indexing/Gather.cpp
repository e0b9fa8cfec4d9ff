// Gather: each result element reads the data where its indices say.
#include "dialects/grad/Movement.h"
#include "dialects/grad/indexing/Index.h"

using namespace mlir;
using namespace mlir::grad;

LogicalResult GatherOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto data = cast<RankedTensorType>(adaptor.getData().getType());
  SmallVector<int64_t> shape;
  IndexedDims indexed{adaptor.getDims(), adaptor.getIndexDims()};
  if (failed(indexed.infer(data, adaptor.getIndices().getTypes(), shape,
                           [&](const Twine &text) { return emitOptionalError(location, text); })))
    return failure();
  types.push_back(data.clone(shape));
  return success();
}

void GatherOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &data = operands[0];
  if (data.size() == 0)
    return;
  IndexedDims indexed{getDims(), getIndexDims()};
  SmallVector<int64_t> from;
  int64_t to = 0;
  forEachIndex(results[0].getShape(), [&](ArrayRef<int64_t> at) {
    indexed.locate(at, operands.drop_front(), data.getShape(), from);
    for (auto [coordinate, size] : llvm::zip_equal(from, data.getShape()))
      coordinate = std::clamp<int64_t>(coordinate, 0, size - 1);
    copyElement(data, linearize(from, data.getShape()), results[0], to++);
  });
}

SmallVector<Value> GatherOp::lowerToLoops(OpBuilder &b, ValueRange operands) {
  Value data = operands[0];
  RankedTensorType from = getData().getType(), type = signlessType(getType());
  if (from.getNumElements() == 0)
    return {fillLoops(b, getLoc(), type.getShape(),
                      cast<TypedAttr>(b.getZeroAttr(type.getElementType())))};
  int64_t rank = type.getRank();
  SmallVector<AffineExpr> at;
  for (int64_t d : getIndexDims())
    at.push_back(b.getAffineDimExpr(d));
  SmallVector<AffineMap> maps(getIndices().size(), AffineMap::get(rank, 0, at, getContext()));
  maps.push_back(b.getMultiDimIdentityMap(rank));
  IndexedDims indexed{getDims(), getIndexDims()};
  Value empty = tensor::EmptyOp::create(b, getLoc(), type.getShape(), type.getElementType());
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    SmallVector<Value> coordinates;
    for (auto [i, size] : llvm::enumerate(from.getShape())) {
      if (!indexed.isIndex(i)) {
        coordinates.push_back(linalg::IndexOp::create(nested, loc, getDims()[i]));
        continue;
      }
      Scalar c = wrapIndex(nested, loc, args[indexed.indexOf(i)], size);
      c = c.apply<arith::MaxSIOp>(Value(c.integer(0)));
      c = c.apply<arith::MinSIOp>(Value(c.integer(size - 1)));
      coordinates.push_back(c.to<arith::IndexCastOp>(nested.getIndexType()));
    }
    Value element = tensor::ExtractOp::create(nested, loc, data, coordinates);
    linalg::YieldOp::create(nested, loc, element);
  };
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  return {linalg::GenericOp::create(b, getLoc(), type, operands.drop_front(), empty, maps,
                                    iterators, body)
              .getResult(0)};
}

// Gradients ---------------------------------------------------------------------------------------

/// An index counted from the front of a dim of `size`; nothing if it is out of range.
static std::optional<int64_t> indexInRange(int64_t index, int64_t size) {
  int64_t at = index < 0 ? index + size : index;
  return at >= 0 && at < size ? std::optional(at) : std::nullopt;
}

int64_t grad::mostReaders(ArrayRef<int64_t> indices, int64_t size) {
  SmallVector<int64_t> counts(size, 0);
  int64_t most = 0;
  for (int64_t index : indices)
    if (std::optional<int64_t> at = indexInRange(index, size))
      most = std::max(most, ++counts[*at]);
  return most;
}

bool grad::areReadsCheap(int64_t mostReaders, int64_t size, int64_t count) {
  constexpr int64_t mostReads = 32, readsPerUpdate = 4;
  return mostReaders > 0 && mostReaders <= mostReads &&
         mostReaders * size <= readsPerUpdate * (count + size);
}

/// A known list of indices along one dim of the data, which has a dim of the result to itself. One
/// index for all may be repeated for the rows of a batch, of which a run has any number.
static std::optional<SmallVector<int64_t>> knownList(GatherOp op, OpBuilder &b) {
  auto known = op.getIndices().front().getDefiningOp<ConstantOp>();
  if (!known || op.getIndices().size() != 1 || op.getIndexDims().size() != 1 ||
      llvm::is_contained(op.getDims(), op.getIndexDims().front()) ||
      (isa<SplatElementsAttr>(known.getValue()) &&
       mayHoldBatch(b, op.getType(), op.getIndexDims())))
    return std::nullopt;
  HostTensor value(known.getValue());
  SmallVector<int64_t> list;
  for (int64_t i = 0; i < value.size(); ++i)
    list.push_back(value.getInt(i));
  return list;
}

namespace {
/// The n-th readers of all elements: the positions of the indices, and whether there is one.
struct Readers {
  HostTensor positions, exist;
  bool all = true;
};
} // namespace

/// An element that has no n-th reader repeats the one before it.
static SmallVector<Readers> readersInOrder(OpBuilder &b, ArrayRef<int64_t> indices, int64_t size) {
  auto type = RankedTensorType::get({size}, b.getI64Type());
  HostTensor none(type.clone(b.getI1Type())), last(type);
  SmallVector<Readers> readers(mostReaders(indices, size), {last, none});
  SmallVector<int64_t> counts(size, 0);
  for (auto [position, index] : llvm::enumerate(indices))
    if (std::optional<int64_t> at = indexInRange(index, size)) {
      Readers &next = readers[counts[*at]++];
      next.positions.setInt(*at, int64_t(position));
      next.exist.setInt(*at, 1);
    }
  for (auto [n, own] : llvm::enumerate(readers))
    for (int64_t i = 0; i < size; ++i)
      if (counts[i] <= int64_t(n)) {
        own.all = false;
        own.positions.setInt(i, n > 0 ? readers[n - 1].positions.getInt(i) : 0);
      }
  return readers;
}

/// Where the indices are known, an element's gradient is read where the element was read: one
/// gather for its first readers, one for its second readers, and so on, added in order of position
/// as a scatter adds them. Null if that would be many gathers, or many reads for each update.
static Value sumOfReaders(GatherOp op, OpBuilder &b, Value gradient) {
  std::optional<SmallVector<int64_t>> list = knownList(op, b);
  if (!list)
    return nullptr;
  int64_t from = op.getIndexDims().front();
  int64_t to = llvm::find(op.getDims(), -1) - op.getDims().begin();
  int64_t size = op.getData().getType().getDimSize(to), most = mostReaders(*list, size);
  if (!areReadsCheap(most, size, int64_t(list->size())))
    return nullptr;
  SmallVector<int64_t> dims(op.getType().getRank());
  for (auto [d, along] : llvm::enumerate(op.getDims()))
    dims[along < 0 ? from : along] = along < 0 ? -1 : int64_t(d);
  Expr g(b, op.getLoc(), gradient);
  std::optional<Expr> sum;
  for (const Readers &own : readersInOrder(b, *list, size)) {
    Value positions = constant(b, op.getLoc(), own.positions);
    Expr read = g.with(b.createOrFold<GatherOp>(op.getLoc(), gradient, positions, dims,
                                                ArrayRef<int64_t>{to}))
                    .wide();
    if (!own.all)
      read = g.with(constant(b, op.getLoc(), own.exist))
                 .broadcast(read.type().clone(b.getI1Type()), {to})
                 .select(read, read.splat(0));
    sum = sum ? *sum + read : read;
  }
  return sum->cast(g.element());
}

LogicalResult GatherOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  if (!isFloatTensor(getType()))
    return success();
  operandGradients[0] = sumOfReaders(*this, b, resultGradients[0]);
  if (operandGradients[0])
    return success();
  operandGradients[0] = ScatterOp::create(
      b, getLoc(), getData().getType(), splat(b, getLoc(), getData().getType(), 0), getIndices(),
      resultGradients[0], ScatterReduction::add, getDims(), getIndexDims());
  return success();
}

// Kernels -----------------------------------------------------------------------------------------

LoopKind GatherOp::getLoopKind() { return LoopKind::movement; }
SmallVector<int64_t> GatherOp::getResultDims() { return SmallVector<int64_t>(getDims()); }

/// The positions of the indices come first, in their order, then the data's dims after the first.
Value GatherOp::getRows() {
  int64_t positions = getIndexDims().size(), next = positions;
  bool isRows = getIndices().size() == 1 && getDims().front() < 0 &&
                llvm::equal(getIndexDims(), llvm::seq<int64_t>(0, positions)) &&
                llvm::all_of(getDims().drop_front(), [&](int64_t d) { return d == next++; });
  return isRows ? getIndices().front() : Value();
}
