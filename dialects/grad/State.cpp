// Constants, module state and requests for gradients.
#include "dialects/grad/Movement.h"

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
        TypeAttr::get(type), initial, DenseI64ArrayAttr());
}

RankedTensorType StateOp::getLogicalType() {
  auto stored = cast<RankedTensorType>(getType());
  if (!getPermutation())
    return stored;
  SmallVector<int64_t> shape(stored.getRank());
  for (auto [i, d] : llvm::enumerate(*getPermutation()))
    shape[d] = stored.getDimSize(i);
  return stored.clone(shape);
}

HostTensor StateOp::getStoredInitial() {
  HostTensor logical(getInitial());
  if (!getPermutation())
    return logical;
  HostTensor stored(cast<RankedTensorType>(getType()));
  SmallVector<int64_t> at(stored.getShape().size());
  int64_t i = 0;
  forEachIndex(stored.getShape(), [&](ArrayRef<int64_t> index) {
    for (auto [position, d] : llvm::zip(index, *getPermutation()))
      at[d] = position;
    copyElement(logical, linearize(at, logical.getShape()), stored, i++);
  });
  return stored;
}

LogicalResult StateOp::verify() {
  if (auto permutation = getPermutation()) {
    auto dims = llvm::to_vector(*permutation);
    llvm::sort(dims);
    if (!llvm::equal(dims, llvm::seq<int64_t>(0, cast<RankedTensorType>(getType()).getRank())))
      return emitOpError("expected permutation of the dims of ")
             << getType() << ", found " << formatDims(*permutation);
  }
  if (getInitial().getShapedType() != getLogicalType())
    return emitOpError("expected initial of type ")
           << getLogicalType() << ", found " << getInitial().getShapedType();
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
