// Converts every float of a module to f64: values, signatures, states and constants.
#include "passes/Passes.h"

#include "dialects/grad/Build.h"
#include "dialects/grad/CastElements.h"
#include "passes/entry/Functions.h"
#include "passes/entry/Ports.h"
#include "runtime/include/gradc/roles.h"

#include "llvm/ADT/StringSwitch.h"

namespace gradc {
#define GEN_PASS_DEF_RETYPEF64
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

static Type retype(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isa<FloatType>(tensor.getElementType()))
    return type;
  return tensor.clone(Float64Type::get(type.getContext()));
}

static ElementsAttr retype(ElementsAttr elements) {
  auto type = cast<RankedTensorType>(retype(elements.getShapedType()));
  if (type == elements.getShapedType())
    return elements;
  if (auto dense = dyn_cast<DenseElementsAttr>(elements); dense && dense.isSplat()) {
    bool exact;
    APFloat value = dense.getSplatValue<APFloat>();
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &exact);
    return DenseElementsAttr::get(type, value);
  }
  return castElements(HostTensor(elements), type.getElementType()).toAttribute("retyped");
}

/// Attributes that carry tensors: constants, initial values, and the types of states and functions.
static Attribute retype(Attribute attribute) {
  if (auto elements = dyn_cast<ElementsAttr>(attribute))
    return isa<RankedTensorType>(elements.getShapedType()) ? retype(elements) : attribute;
  auto type = dyn_cast<TypeAttr>(attribute);
  if (!type)
    return attribute;
  if (auto function = dyn_cast<FunctionType>(type.getValue())) {
    auto all = [](TypeRange types) {
      return llvm::map_to_vector(types, [](Type t) { return retype(t); });
    };
    return TypeAttr::get(function.clone(all(function.getInputs()), all(function.getResults())));
  }
  return TypeAttr::get(retype(type.getValue()));
}

namespace {

/// Bit casts need the bits of a float's original type, so it is cast to that type and back.
struct KeepBits {
  BitCastOp op;
  Type from, to;

  explicit KeepBits(BitCastOp op)
      : op(op), from(op.getOperand().getType()), to(op.getResult().getType()) {}

  void restore() {
    OpBuilder b(op);
    if (op.getOperand().getType() != from)
      op.getOperandMutable().assign(CastOp::create(b, op.getLoc(), from, op.getOperand()));
    Type wide = op.getResult().getType();
    if (wide == to)
      return;
    op.getResult().setType(cast<RankedTensorType>(to));
    b.setInsertionPointAfter(op);
    auto widened = CastOp::create(b, op.getLoc(), wide, op.getResult());
    op.getResult().replaceAllUsesExcept(widened, widened);
  }
};

/// Whether the runtime exchanges an f32 scalar at a port with this role. The table of roles names
/// the type; the enumerator's value belongs to the artifact format.
bool isF32(StringRef role) {
#define GRADC_ROLE_TYPE(enumerator, name, type) .Case(#name, StringRef(#type) == "GRADC_F32")
  return llvm::StringSwitch<bool>(role) GRADC_PORT_ROLES(GRADC_ROLE_TYPE).Default(false);
#undef GRADC_ROLE_TYPE
}

/// Keeps numbers that are exchanged with the runtime in f32: rates, counts of rows, the loss.
void keepNumbers(func::FuncOp function) {
  Block &block = function.front();
  OpBuilder begin = OpBuilder::atBlockBegin(&block), end(block.getTerminator());
  auto narrow = [&](Value v) {
    return cast<RankedTensorType>(v.getType()).clone(begin.getF32Type());
  };
  for (BlockArgument argument : block.getArguments())
    if (isF32(gradc::roleOfArgument(function, argument.getArgNumber()))) {
      Type wide = argument.getType();
      argument.setType(narrow(argument));
      auto widened = CastOp::create(begin, function.getLoc(), wide, argument);
      argument.replaceAllUsesExcept(widened, widened);
    }
  for (OpOperand &result : block.getTerminator()->getOpOperands())
    if (isF32(gradc::roleOfResult(function, result.getOperandNumber())))
      result.set(CastOp::create(end, function.getLoc(), narrow(result.get()), result.get()));
  function.setType(
      begin.getFunctionType(block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
}

struct RetypeF64 : gradc::impl::RetypeF64Base<RetypeF64> {
  void runOnOperation() override {
    // Like a cast between floats, it rounds nothing in f64. With the gradient of a constant it
    // keeps gradients from the value, such as a scale; differences of the loss would see that value
    // move.
    getOperation().walk([](StraightThroughOp op) {
      bool isDetached = matchPattern(op.getOperand(), m_Constant());
      op.replaceAllUsesWith(isDetached ? op.getValue() : op.getOperand());
      op.erase();
    });
    SmallVector<KeepBits> kept;
    getOperation().walk([&](BitCastOp op) { kept.emplace_back(op); });
    getOperation().walk([](Operation *op) {
      for (Value result : op->getResults())
        result.setType(retype(result.getType()));
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (Value argument : block.getArguments())
            argument.setType(retype(argument.getType()));
      for (NamedAttribute attribute : op->getAttrs())
        op->setAttr(attribute.getName(), retype(attribute.getValue()));
    });
    for (KeepBits &bits : kept)
      bits.restore();
    for (auto function : gradc::functionsOf(getOperation()))
      keepNumbers(function);
  }
};

} // namespace
