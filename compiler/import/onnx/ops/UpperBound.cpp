// Bounds of integers: trip counts of loops, and the k of TopK.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ops/UpperBound.h"
#include "dialects/grad/control/Control.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static std::optional<int64_t> smaller(std::optional<int64_t> a, std::optional<int64_t> b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

std::optional<int64_t> gradc::upperBound(Value value, int depth) {
  if (ElementsAttr constant; matchPattern(value, m_Constant(&constant)))
    return constant.getNumElements() == 0 ? std::nullopt
                                          : std::optional(HostTensor(constant).getInt(0));
  Operation *op = value.getDefiningOp();
  if (!op || depth-- == 0)
    return std::nullopt;
  if (isa<ReshapeOp, BroadcastOp>(op))
    return upperBound(op->getOperand(0), depth);
  if (auto cast = dyn_cast<CastOp>(op)) {
    auto from = dyn_cast<IntegerType>(cast.getOperand().getType().getElementType());
    auto to = dyn_cast<IntegerType>(cast.getType().getElementType());
    bool isWider = from && to && from.getWidth() <= to.getWidth();
    return isWider ? upperBound(cast.getOperand(), depth) : std::nullopt;
  }
  if (auto clamp = dyn_cast<ClampOp>(op)) {
    double high = clamp.getHigh().convertToDouble();
    return std::abs(high) <= double(unboundedTrips) ? std::optional(int64_t(high)) : std::nullopt;
  }
  if (isa<ReduceMinOp>(op)) { // the minimum of all parts is no larger than any element
    auto parts = op->getOperand(0).getDefiningOp<ConcatenateOp>();
    if (!parts || cast<RankedTensorType>(value.getType()).getNumElements() != 1)
      return upperBound(op->getOperand(0), depth);
    std::optional<int64_t> least;
    for (Value part : parts->getOperands())
      least = smaller(least, upperBound(part, depth));
    return least;
  }
  if (!isa<MinOp, MaxOp>(op))
    return std::nullopt;
  std::optional<int64_t> a = upperBound(op->getOperand(0), depth),
                         b = upperBound(op->getOperand(1), depth);
  if (isa<MaxOp>(op))
    return a && b ? std::optional(std::max(*a, *b)) : std::nullopt;
  return smaller(a, b);
}
