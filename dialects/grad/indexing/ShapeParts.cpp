// Ops that take parts of tensors and join parts. Pad and concatenate are lowered to one copying
// generic per operand, whose output map places it in the result (d + c, s * d + c). Elements that
// no copy writes keep the value of the `outs` operand, so the generics form a chain over one
// result.
#include "dialects/grad/Movement.h"
#include "dialects/grad/Permute.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::grad;

// Slice -------------------------------------------------------------------------------------------

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  ArrayRef<int64_t> starts = adaptor.getStarts(), sizes = adaptor.getSizes(),
                    strides = adaptor.getStrides();
  size_t rank = type.getRank();
  if (starts.size() != rank || sizes.size() != rank || strides.size() != rank)
    return emitOptionalError(location, "expected one start, size and stride a dim (", rank,
                             "), found ", starts.size(), ", ", sizes.size(), " and ",
                             strides.size());
  for (size_t d = 0; d < rank; ++d) {
    int64_t n = type.getDimSize(d);
    if (strides[d] == 0)
      return emitOptionalError(location, "expected stride ", d, " to be other than 0");
    if (sizes[d] < 0)
      return emitOptionalError(location, "expected size ", d, " to be 0 or more, found ", sizes[d]);
    if (sizes[d] == 0)
      continue;
    int64_t last = starts[d] + (sizes[d] - 1) * strides[d];
    if (starts[d] < 0 || starts[d] >= n || last < 0 || last >= n)
      return emitOptionalError(location, "expected first and last index of dim ", d, " in [0, ", n,
                               "), found ", starts[d], " and ", last);
  }
  types.push_back(type.clone(sizes));
  return success();
}

/// A part of integers that is one operand of a concatenation is that operand, such as a size of a
/// shape.
OpFoldResult SliceOp::fold(FoldAdaptor) {
  auto whole = getOperand().getDefiningOp<ConcatenateOp>();
  if (!whole || isFloatTensor(getType()) ||
      llvm::any_of(getStrides(), [](int64_t stride) { return stride != 1; }))
    return {};
  int64_t dim = whole.getDim(), begin = 0;
  for (Value piece : whole.getOperands()) {
    if (begin == getStarts()[dim] && piece.getType() == getType())
      return piece;
    begin += cast<RankedTensorType>(piece.getType()).getDimSize(dim);
  }
  return {};
}

void SliceOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  SmallVector<int64_t> source(getStarts().size());
  int64_t i = 0;
  forEachIndex(results[0].getShape(), [&](ArrayRef<int64_t> index) {
    for (size_t d = 0; d < source.size(); ++d)
      source[d] = getStarts()[d] + index[d] * getStrides()[d];
    copyElement(operands[0], linearize(source, operands[0].getShape()), results[0], i++);
  });
}

SmallVector<Value> SliceOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  SmallVector<AffineExpr> input;
  for (auto [d, start, stride] : llvm::enumerate(getStarts(), getStrides()))
    input.push_back(placePart(builder.getAffineDimExpr(d), getType().getDimSize(d),
                              getOperand().getType().getDimSize(d), start, stride));
  return gatherLoops(builder, *this, operands[0], input);
}

/// The adjoint of reading with strides is writing with gaps; a dim that was read backwards is first
/// reversed.
LogicalResult SliceOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                     SmallVectorImpl<Value> &operandGradients) {
  if (!isFloatTensor(getType()) || getType().getNumElements() == 0)
    return success();
  SmallVector<int64_t> turnStarts, turnStrides, low, high, interior;
  for (auto [d, start, size, stride] : llvm::enumerate(getStarts(), getSizes(), getStrides())) {
    bool backwards = stride < 0;
    turnStarts.push_back(backwards ? size - 1 : 0);
    turnStrides.push_back(backwards ? -1 : 1);
    int64_t last = start + (size - 1) * stride;
    low.push_back(std::min(start, last));
    high.push_back(getOperand().getType().getDimSize(d) - 1 - std::max(start, last));
    interior.push_back(size > 1 ? std::abs(stride) - 1 : 0);
  }
  Value dy = resultGradients[0];
  if (llvm::is_contained(turnStrides, -1))
    dy = builder.createOrFold<SliceOp>(getLoc(), dy, turnStarts, getSizes(), turnStrides);
  operandGradients[0] =
      builder.createOrFold<PadOp>(getLoc(), dy, low, high, interior, APFloat(0.0));
  return success();
}
LoopKind SliceOp::getLoopKind() { return LoopKind::movement; }
SmallVector<int64_t> SliceOp::getResultDims() {
  return llvm::to_vector(llvm::seq<int64_t>(0, getType().getRank()));
}
Operation *SliceOp::buildPermuted(OpBuilder &b, ValueRange operands,
                                  ArrayRef<int64_t> permutation) {
  return create(b, getLoc(), operands[0], applyPermutation(getStarts(), permutation),
                applyPermutation(getSizes(), permutation),
                applyPermutation(getStrides(), permutation));
}

// Pad ---------------------------------------------------------------------------------------------

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto type = cast<RankedTensorType>(adaptor.getOperand().getType());
  ArrayRef<int64_t> low = adaptor.getLow(), high = adaptor.getHigh(),
                    interior = adaptor.getInterior();
  size_t rank = type.getRank();
  if (low.size() != rank || high.size() != rank || interior.size() != rank)
    return emitOptionalError(location, "expected one low, high and interior a dim (", rank,
                             "), found ", low.size(), ", ", high.size(), " and ", interior.size());
  SmallVector<int64_t> shape;
  for (size_t d = 0; d < rank; ++d) {
    if (low[d] < 0 || high[d] < 0 || interior[d] < 0)
      return emitOptionalError(location, "expected low, high and interior of dim ", d,
                               " to be 0 or more, found ", low[d], ", ", high[d], " and ",
                               interior[d]);
    int64_t n = type.getDimSize(d);
    shape.push_back(low[d] + n + std::max<int64_t>(n - 1, 0) * interior[d] + high[d]);
  }
  types.push_back(type.clone(shape));
  return success();
}

void PadOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  for (int64_t i = 0, n = results[0].size(); i < n; ++i)
    results[0].setFloat(i, getValue().convertToDouble());
  SmallVector<int64_t> target(getLow().size());
  int64_t i = 0;
  forEachIndex(operands[0].getShape(), [&](ArrayRef<int64_t> index) {
    for (size_t d = 0; d < target.size(); ++d)
      target[d] = getLow()[d] + index[d] * (getInterior()[d] + 1);
    copyElement(operands[0], i++, results[0], linearize(target, results[0].getShape()));
  });
}

SmallVector<Value> PadOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = signlessType(getType());
  HostTensor padding(RankedTensorType::get({}, getType().getElementType()));
  padding.setFloat(0, getValue().convertToDouble());
  Value filled = fillLoops(builder, getLoc(), type, padding);
  int64_t rank = type.getRank();
  SmallVector<AffineExpr> output;
  for (auto [d, low, interior] : llvm::enumerate(getLow(), getInterior()))
    output.push_back(placePart(builder.getAffineDimExpr(d), getOperand().getType().getDimSize(d),
                               type.getDimSize(d), low, interior + 1));
  return {copyLoops(builder, getLoc(), operands[0], filled, builder.getMultiDimIdentityMap(rank),
                    AffineMap::get(rank, 0, output, getContext()))};
}

LogicalResult PadOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                   SmallVectorImpl<Value> &operandGradients) {
  if (!isFloatTensor(getType()))
    return success();
  SmallVector<int64_t> strides =
      llvm::map_to_vector(getInterior(), [](int64_t gap) { return gap + 1; });
  operandGradients[0] = builder.createOrFold<SliceOp>(getLoc(), resultGradients[0], getLow(),
                                                      getOperand().getType().getShape(), strides);
  return success();
}
LoopKind PadOp::getLoopKind() { return LoopKind::assembly; }
Operation *PadOp::buildPermuted(OpBuilder &b, ValueRange operands, ArrayRef<int64_t> permutation) {
  return create(b, getLoc(), operands[0], applyPermutation(getLow(), permutation),
                applyPermutation(getHigh(), permutation),
                applyPermutation(getInterior(), permutation), getValue());
}

// Concatenate -------------------------------------------------------------------------------------

LogicalResult ConcatenateOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (adaptor.getOperands().empty())
    return emitOptionalError(location, "expected at least one operand, found none");
  auto first = cast<RankedTensorType>(adaptor.getOperands().front().getType());
  int64_t dim = adaptor.getDim();
  if (dim < 0 || dim >= first.getRank())
    return emitOptionalError(location, "expected dim in [0, ", first.getRank(), "), found ", dim);
  SmallVector<int64_t> shape(first.getShape());
  for (auto [i, operand] : llvm::enumerate(adaptor.getOperands().drop_front())) {
    auto type = cast<RankedTensorType>(operand.getType());
    SmallVector<int64_t> others(type.getShape());
    if (type.getRank() == first.getRank())
      others[dim] = first.getDimSize(dim);
    if (type.getElementType() != first.getElementType() || first.getShape() != ArrayRef(others))
      return emitOptionalError(location, "expected operand ", i + 1, " to be as operand 0 (", first,
                               ") but for dim ", dim, ", found ", type);
    shape[dim] += type.getDimSize(dim);
  }
  types.push_back(first.clone(shape));
  return success();
}

OpFoldResult ConcatenateOp::fold(FoldAdaptor) {
  return getNumOperands() == 1 ? OpFoldResult(getOperand(0)) : OpFoldResult();
}

void ConcatenateOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  int64_t offset = 0;
  for (const HostTensor &operand : operands) {
    int64_t i = 0;
    forEachIndex(operand.getShape(), [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> target(index);
      target[getDim()] += offset;
      copyElement(operand, i++, results[0], linearize(target, results[0].getShape()));
    });
    offset += operand.getShape()[getDim()];
  }
}

SmallVector<Value> ConcatenateOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  RankedTensorType type = signlessType(getType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  Value result = tensor::EmptyOp::create(builder, getLoc(), type.getShape(), type.getElementType());
  int64_t dim = getDim(), offset = 0;
  for (Value operand : operands) {
    int64_t size = cast<RankedTensorType>(operand.getType()).getDimSize(dim);
    SmallVector<AffineExpr> output(identity.getResults());
    output[dim] = placePart(output[dim], size, type.getDimSize(dim), offset);
    result = copyLoops(builder, getLoc(), operand, result, identity,
                       AffineMap::get(type.getRank(), 0, output, getContext()));
    offset += size;
  }
  return {result};
}

LogicalResult ConcatenateOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                           SmallVectorImpl<Value> &operandGradients) {
  if (!isFloatTensor(getType()))
    return success();
  SmallVector<int64_t> starts(getType().getRank(), 0), strides(getType().getRank(), 1);
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(operand.getType()).getShape();
    operandGradients[i] =
        builder.createOrFold<SliceOp>(getLoc(), resultGradients[0], starts, shape, strides);
    starts[getDim()] += shape[getDim()];
  }
  return success();
}
LoopKind ConcatenateOp::getLoopKind() { return LoopKind::assembly; }
Operation *ConcatenateOp::buildPermuted(OpBuilder &b, ValueRange operands,
                                        ArrayRef<int64_t> permutation) {
  return create(b, getLoc(), operands, permuteDim(getDim(), permutation));
}
