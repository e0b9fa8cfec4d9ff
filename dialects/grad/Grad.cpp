// The dialect itself: registration, constants, and folding by evaluation.
#include "dialects/grad/Grad.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/Movement.h"
#include "dialects/grad/Permute.h"
#include "dialects/grad/Pointwise.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::grad;

#include "dialects/grad/GradDialect.cpp.inc"
#include "dialects/grad/GradEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/grad/GradAttrs.cpp.inc"
#include "dialects/grad/GradInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/grad/GradOps.cpp.inc"

void GradDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/grad/GradAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/grad/GradOps.cpp.inc"
      >();
  attachOverSteps(getContext());
}

Operation *GradDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  return elements ? ConstantOp::create(builder, loc, type, elements).getOperation() : nullptr;
}

LogicalResult grad::expectTensors(std::optional<Location> location, ValueRange operands) {
  for (Type type : operands.getTypes())
    if (!isa<RankedTensorType>(type))
      return emitOptionalError(location, "expected operands to be ranked tensors, found ", type);
  return success();
}

LogicalResult grad::expectSize(Operation *op, Type type) {
  constexpr int64_t most = (int64_t(1) << 60) - 1;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return success();
  int64_t bytes = (tensor.getElementTypeBitWidth() + 7) / 8;
  for (int64_t size : tensor.getShape()) // of an empty tensor, too: its strides are computed
    if (llvm::MulOverflow(bytes, std::max<int64_t>(size, 1), bytes) || bytes > most)
      return op->emitOpError("expected tensors of less than 2^60 bytes, found ") << type;
  return success();
}

LogicalResult grad::expectSizes(Operation *op) {
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (failed(expectSize(op, type)))
        return failure();
  return success();
}

// Entries -----------------------------------------------------------------------------------------

/// Passes read the types of an entry's ports before any op does.
static LogicalResult verifyPort(func::FuncOp function, const char *port, TypeRange types,
                                unsigned index) {
  auto tensor = dyn_cast<RankedTensorType>(types[index]);
  if (tensor && tensor.hasStaticShape())
    return expectSize(function, tensor);
  return function.emitOpError("expected ")
         << port << ' ' << index << " of an entry to be a static tensor, found " << types[index];
}

static LogicalResult verifyArgument(func::FuncOp function, unsigned index) {
  return verifyPort(function, "argument", function.getArgumentTypes(), index);
}
static LogicalResult verifyResult(func::FuncOp function, unsigned index) {
  return verifyPort(function, "result", function.getResultTypes(), index);
}

/// A function with an attribute of the dialect is an entry.
LogicalResult GradDialect::verifyOperationAttribute(Operation *op, NamedAttribute) {
  auto function = dyn_cast<func::FuncOp>(op);
  for (unsigned i = 0; function && i < function.getNumArguments(); ++i)
    if (failed(verifyArgument(function, i)))
      return failure();
  for (unsigned i = 0; function && i < function.getNumResults(); ++i)
    if (failed(verifyResult(function, i)))
      return failure();
  return success();
}

LogicalResult GradDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index,
                                                    NamedAttribute) {
  auto function = dyn_cast<func::FuncOp>(op);
  return function ? verifyArgument(function, index) : success();
}

LogicalResult GradDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                       NamedAttribute) {
  auto function = dyn_cast<func::FuncOp>(op);
  return function ? verifyResult(function, index) : success();
}

// Folding -----------------------------------------------------------------------------------------

SmallVector<HostTensor> grad::evaluateOp(Operation *op, ArrayRef<HostTensor> operands) {
  SmallVector<HostTensor> results;
  for (Type t : op->getResultTypes())
    results.emplace_back(cast<RankedTensorType>(t));
  cast<EvaluateOpInterface>(op).evaluate(operands, results);
  return results;
}

/// Evaluates a clone of a pointwise op of splats on tensors with one element.
static LogicalResult foldSplats(Operation *op, ArrayRef<Attribute> operands,
                                SmallVectorImpl<OpFoldResult> &results) {
  auto single = [](Type t) {
    return RankedTensorType::get({1}, cast<RankedTensorType>(t).getElementType());
  };
  OperationState state(op->getLoc(), op->getName());
  SmallVector<HostTensor> values;
  for (Attribute a : operands)
    values.emplace_back(cast<ElementsAttr>(
        cast<DenseElementsAttr>(a).resizeSplat(single(cast<DenseElementsAttr>(a).getType()))));
  state.operands.assign(op->operand_begin(), op->operand_end());
  state.attributes = op->getDiscardableAttrDictionary();
  state.propertiesAttr = op->getPropertiesAsAttribute();
  for (Type t : op->getResultTypes())
    state.types.push_back(single(t));
  Operation *small = Operation::create(state);
  for (auto [value, type] : llvm::zip(evaluateOp(small, values), op->getResultTypes())) {
    auto element = cast<DenseElementsAttr>(value.toAttribute());
    results.push_back(Attribute(element.resizeSplat(cast<ShapedType>(type))));
  }
  small->destroy();
  return success();
}

/// Whether a reduction of a constant may depend on how many rows the batch has: what is repeated
/// for each of them is a splat.
static bool dependsOnRows(Operation *op) {
  auto reduction = dyn_cast<ReductionOpInterface>(op);
  if (!reduction || !op->getBlock())
    return false;
  OpBuilder builder(op);
  return mayHoldBatch(builder, cast<RankedTensorType>(op->getOperand(0).getType()),
                      reduction.getReducedDims());
}

/// Whether the op widens many codes of 8 bits: quantized weights stay so, because products read
/// them as they are.
static bool widensCodes(Operation *op) {
  constexpr int64_t few = 256;
  auto cast = dyn_cast<grad::CastOp>(op);
  return cast && cast.getType().getNumElements() > few &&
         cast.getOperand().getType().getElementType().isInteger(8);
}

LogicalResult grad::foldByEvaluation(Operation *op, ArrayRef<Attribute> operands,
                                     SmallVectorImpl<OpFoldResult> &results) {
  if (operands.empty() || !llvm::all_of(operands, [](Attribute a) {
        return isa_and_nonnull<DenseElementsAttr, DenseResourceElementsAttr>(a);
      }))
    return failure();
  bool splats = llvm::all_of(operands, [](Attribute a) {
    auto dense = dyn_cast<DenseElementsAttr>(a);
    return dense && dense.isSplat();
  });
  if (splats && op->hasTrait<grad::Pointwise>())
    return foldSplats(op, operands, results);
  if ((splats && dependsOnRows(op)) || widensCodes(op))
    return failure();
  auto type = cast<ShapedType>(op->getResult(0).getType());
  // Moving the elements of a splat gives the same splat, regardless of the result's size.
  if (splats && movesElements(op) && type.getNumElements() > 0) {
    results.push_back(Attribute(cast<DenseElementsAttr>(operands[0]).resizeSplat(type)));
    return success();
  }
  auto bytes = [](TypeRange types) {
    int64_t sum = 0;
    for (Type t : types)
      sum += bytesOf(cast<RankedTensorType>(t));
    return sum;
  };
  // An operand may be a splat of any size, so the size of its expansion is limited, too.
  if (bytes(op->getResultTypes()) > foldLimitBytes ||
      bytes(op->getOperandTypes()) > 64 * foldLimitBytes)
    return failure();
  constexpr int64_t foldLimitFlops = 1 << 26;
  if (auto cost = dyn_cast<CostOpInterface>(op); cost && cost.getFlops() > foldLimitFlops)
    return failure();
  SmallVector<HostTensor> values;
  for (Attribute a : operands)
    values.emplace_back(cast<ElementsAttr>(a));
  for (const HostTensor &value : evaluateOp(op, values))
    results.push_back(Attribute(value.toAttribute()));
  return success();
}
