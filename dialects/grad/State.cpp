// Constants, module state and requests for gradients.
#include "dialects/grad/Movement.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace mlir::grad;

// Constant ----------------------------------------------------------------------------------------

LogicalResult ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(adaptor.getValue().getShapedType());
  return success();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

void ConstantOp::evaluate(ArrayRef<HostTensor>, MutableArrayRef<HostTensor> results) {
  results[0] = HostTensor(getValue());
}

SmallVector<Value> ConstantOp::lowerToLoops(OpBuilder &builder, ValueRange) {
  RankedTensorType type = signlessType(getType());
  HostTensor value(getValue());
  if (value.size() == 0)
    return {tensor::EmptyOp::create(builder, getLoc(), type.getShape(), type.getElementType())};
  if (getValue().isSplat())
    return {fillLoops(builder, getLoc(), type, value)};
  HostTensor signless(type, value.bytes());
  return {arith::ConstantOp::create(builder, getLoc(), cast<TypedAttr>(signless.toAttribute()))};
}

LogicalResult ConstantOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}
LoopKind ConstantOp::getLoopKind() { return LoopKind::elementwise; }
int64_t ConstantOp::getFlops() { return 0; }

// State -------------------------------------------------------------------------------------------

void StateOp::build(OpBuilder &builder, OperationState &state, StringRef name, StateKind kind,
                    Type type, ElementsAttr initial) {
  build(builder, state, builder.getStringAttr(name), StateKindAttr::get(builder.getContext(), kind),
        TypeAttr::get(type), initial, DenseI64ArrayAttr(), DenseI64ArrayAttr(),
        DenseI64ArrayAttr());
}

RankedTensorType StateOp::getUnpermutedType() {
  auto stored = cast<RankedTensorType>(getType());
  if (!getPermutation())
    return stored;
  SmallVector<int64_t> shape(stored.getRank());
  for (auto [i, d] : llvm::enumerate(*getPermutation()))
    shape[d] = stored.getDimSize(i);
  return stored.clone(shape);
}

RankedTensorType StateOp::getLogicalType() {
  RankedTensorType type = getUnpermutedType();
  return getShape() ? type.clone(*getShape()) : type;
}

Value StateOp::toLogical(OpBuilder &builder, Value stored) {
  Expr value(builder, stored.getLoc(), stored);
  if (getPermutation())
    value = value.transpose(invertPermutationVector(*getPermutation()));
  return value.reshape(getLogicalType().getShape());
}

Value StateOp::fromLogical(OpBuilder &builder, Value logical) {
  Expr value = Expr(builder, logical.getLoc(), logical).reshape(getUnpermutedType().getShape());
  return getPermutation() ? value.transpose(*getPermutation()) : value;
}

RankedTensorType StateOp::getWholeType() {
  RankedTensorType logical = getLogicalType();
  if (!getShard())
    return logical;
  SmallVector<int64_t> shape(logical.getShape());
  shape[(*getShard())[0]] *= (*getShard())[2];
  return logical.clone(shape);
}

int64_t StateOp::getShardRuns() {
  int64_t runs = 1;
  if (auto shard = getShard())
    for (int64_t size : getLogicalType().getShape().take_front((*shard)[0]))
      runs *= size;
  return getShard() ? runs * (*getShard())[1] : 1;
}

HostTensor StateOp::getStoredInitial() {
  HostTensor whole(getInitial());
  if (getShape())
    whole = HostTensor(getUnpermutedType(), whole.bytes());
  if (!getPermutation() && !getShard())
    return whole;
  HostTensor stored(cast<RankedTensorType>(getType()));
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, stored.getShape().size()));
  if (getPermutation())
    order.assign(getPermutation()->begin(), getPermutation()->end());
  SmallVector<int64_t> at(order.size());
  int64_t i = 0;
  forEachIndex(stored.getShape(), [&](ArrayRef<int64_t> index) {
    for (auto [position, d] : llvm::zip(index, order))
      at[d] = position;
    if (auto shard = getShard()) { // the first rank's piece of each run
      int64_t dim = (*shard)[0], piece = whole.getShape()[dim] / ((*shard)[1] * (*shard)[2]);
      at[dim] += at[dim] / piece * piece * ((*shard)[2] - 1);
    }
    copyElement(whole, linearize(at, whole.getShape()), stored, i++);
  });
  return stored;
}

/// C3.
static LogicalResult verifyShard(StateOp op, ArrayRef<int64_t> shard) {
  RankedTensorType logical = op.getLogicalType();
  if (shard.size() == 3 && shard[0] >= 0 && shard[0] < logical.getRank() && shard[1] > 0 &&
      logical.getDimSize(shard[0]) % shard[1] == 0 && shard[2] > 1)
    return success();
  return op.emitOpError("expected shard to be a dim of ")
         << logical << ", a number of runs that divides it, and at least 2 ranks, found "
         << formatDims(shard);
}

LogicalResult StateOp::verify() {
  if (failed(expectSize(*this, getType())))
    return failure();
  if (auto permutation = getPermutation()) {
    auto dims = llvm::to_vector(*permutation);
    llvm::sort(dims);
    if (!llvm::equal(dims, llvm::seq<int64_t>(0, cast<RankedTensorType>(getType()).getRank())))
      return emitOpError("expected permutation of the dims of ")
             << getType() << ", found " << formatDims(*permutation);
  }
  if (getShard() && failed(verifyShard(*this, *getShard())))
    return failure();
  if (getShape() && (getShard() || getLogicalType().getNumElements() !=
                                       cast<RankedTensorType>(getType()).getNumElements()))
    return emitOpError("expected shape to be one of ")
           << getType() << " without shard, found " << formatDims(*getShape());
  if (getInitial().getShapedType() != getWholeType())
    return emitOpError("expected initial of type ")
           << getWholeType() << ", found " << getInitial().getShapedType();
  return success();
}

static LogicalResult verifyUse(Operation *user, FlatSymbolRefAttr name, Type found,
                               SymbolTableCollection &symbols) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(user, name);
  if (!state)
    return user->emitOpError("expected a grad.state, found no ") << name;
  if (state.getType() == found)
    return success();
  InFlightDiagnostic error = user->emitOpError("expected the type of ")
                             << name << " (" << state.getType() << "), found " << found;
  error.attachNote(state.getLoc()) << "state is here";
  return error;
}

LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyUse(*this, getStateAttr(), getType(), symbols);
}
LogicalResult WriteOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyUse(*this, getStateAttr(), getValue().getType(), symbols);
}

// Gradient ----------------------------------------------------------------------------------------

LogicalResult GradientOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getTargets().getTypes());
  return success();
}

// Optimization barrier ----------------------------------------------------------------------------

void OptimizationBarrierOp::evaluate(ArrayRef<HostTensor> operands,
                                     MutableArrayRef<HostTensor> results) {
  results[0] = operands[0];
}
SmallVector<Value> OptimizationBarrierOp::lowerToLoops(OpBuilder &, ValueRange operands) {
  return {operands[0]};
}
LogicalResult OptimizationBarrierOp::buildGradient(OpBuilder &, ValueRange resultGradients,
                                                   SmallVectorImpl<Value> &operandGradients) {
  operandGradients[0] = resultGradients[0];
  return success();
}
LoopKind OptimizationBarrierOp::getLoopKind() { return LoopKind::view; }
int64_t OptimizationBarrierOp::getFlops() { return 0; }
/// Derivatives by the value are wanted in its own type.
Precision OptimizationBarrierOp::getPrecision() { return Precision::high; }
