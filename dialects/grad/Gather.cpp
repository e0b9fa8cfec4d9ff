// Gather: each result element reads the data where its indices say.
#include "dialects/grad/Index.h"
#include "dialects/grad/Movement.h"

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

LogicalResult GatherOp::buildGradient(OpBuilder &b, ValueRange resultGradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  if (!isFloatTensor(getType()))
    return success();
  operandGradients[0] = ScatterOp::create(
      b, getLoc(), getData().getType(), splat(b, getLoc(), getData().getType(), 0), getIndices(),
      resultGradients[0], ScatterReduction::add, getDims(), getIndexDims());
  return success();
}

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
