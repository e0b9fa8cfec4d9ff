// Copying generics and byte copies.
#include "dialects/grad/Movement.h"

using namespace mlir;
using namespace mlir::grad;

Value grad::copyLoops(OpBuilder &builder, Location loc, Value operand, Value result,
                      AffineMap input, AffineMap output) {
  auto elements = [](Value v) { return cast<RankedTensorType>(v.getType()).getNumElements(); };
  auto isConstant = [](AffineExpr place) { return isa<AffineConstantExpr>(place); };
  // A part without elements has a constant place in a dim of size 1, so a generic would copy one.
  if (elements(operand) == 0 && elements(result) > 0 &&
      llvm::any_of(output.getResults(), isConstant))
    return result;
  SmallVector<utils::IteratorType> iterators(input.getNumDims(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(builder, loc, result.getType(), operand, result,
                                   ArrayRef<AffineMap>{input, output}, iterators,
                                   [](OpBuilder &nested, Location bodyLoc, ValueRange args) {
                                     linalg::YieldOp::create(nested, bodyLoc, args[0]);
                                   })
      .getResult(0);
}

SmallVector<Value> grad::gatherLoops(OpBuilder &builder, Operation *op, Value operand,
                                     ArrayRef<AffineExpr> input) {
  RankedTensorType type = signlessType(op->getResult(0).getType());
  Value empty =
      tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(), type.getElementType());
  auto map = AffineMap::get(type.getRank(), 0, input, builder.getContext());
  return {copyLoops(builder, op->getLoc(), operand, empty, map,
                    builder.getMultiDimIdentityMap(type.getRank()))};
}

AffineExpr grad::placePart(AffineExpr dim, int64_t size, int64_t wholeSize, int64_t offset,
                           int64_t stride) {
  AffineExpr place = dim * stride + offset;
  return place == dim && size != wholeSize ? dim % wholeSize : place;
}

void grad::copyElement(const HostTensor &from, int64_t source, HostTensor &to, int64_t target) {
  int64_t width = elementBytes(from.getElementType());
  std::copy_n(from.bytes().data() + source * width, width,
              to.mutableBytes().data() + target * width);
}

bool grad::isFloatTensor(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

bool grad::movesElements(Operation *op) {
  auto loops = dyn_cast<LoopsOpInterface>(op);
  return loops && op->getNumOperands() == 1 &&
         (loops.getLoopKind() == LoopKind::movement || loops.getLoopKind() == LoopKind::view);
}
