// Constants, module state and requests for gradients.
#include "dialects/grad/Build.h"

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

LogicalResult StateOp::verify() {
  if (getInitial().getShapedType() != getType())
    return emitOpError("expected initial of type ")
           << getType() << ", found " << getInitial().getShapedType();
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
