// Comparisons and the ops based on them: select, clamp, is_finite.
#include "dialects/grad/Pointwise.h"
#include <cmath>

using namespace mlir;
using namespace mlir::grad;

static RankedTensorType boolTensor(Type like) {
  return cast<RankedTensorType>(like).clone(IntegerType::get(like.getContext(), 1));
}

// Compare -----------------------------------------------------------------------------------------

LogicalResult CompareOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  types.push_back(boolTensor(adaptor.getLhs().getType()));
  return success();
}

template <typename T> static bool holds(ComparePredicate predicate, T a, T b) {
  switch (predicate) {
  case ComparePredicate::eq:
    return a == b;
  case ComparePredicate::ne:
    return a != b;
  case ComparePredicate::lt:
    return a < b;
  case ComparePredicate::le:
    return a <= b;
  case ComparePredicate::gt:
    return a > b;
  case ComparePredicate::ge:
    return a >= b;
  }
  llvm_unreachable("all predicates are covered");
}

void CompareOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  const HostTensor &a = operands[0], &b = operands[1];
  bool isFloat = isa<FloatType>(a.getElementType());
  for (int64_t i = 0, n = a.size(); i < n; ++i) {
    bool y = isFloat ? holds(getPredicate(), a.getFloat(i), b.getFloat(i))
             : isUnsigned(a.getType())
                 ? holds(getPredicate(), uint64_t(a.getInt(i)), uint64_t(b.getInt(i)))
                 : holds(getPredicate(), a.getInt(i), b.getInt(i));
    results[0].setInt(i, y);
  }
}
SmallVector<Value> CompareOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  return lowerPointwise(builder, *this, operands, [&](ArrayRef<Scalar> scalars) {
    return compare(getPredicate(), scalars[0], scalars[1]);
  });
}
LogicalResult CompareOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}
LoopKind CompareOp::getLoopKind() { return LoopKind::elementwise; }

// Select ------------------------------------------------------------------------------------------

void SelectOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  results[0] = operands[2];
  int64_t width = elementBytes(operands[1].getElementType());
  MutableArrayRef<char> bytes = results[0].mutableBytes();
  for (int64_t i = 0, n = operands[0].size(); i < n; ++i)
    if (operands[0].getInt(i))
      std::copy_n(operands[1].bytes().data() + i * width, width, bytes.data() + i * width);
}
SmallVector<Value> SelectOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  return lowerPointwise(builder, *this, operands, [](ArrayRef<Scalar> scalars) {
    return scalars[0].select(scalars[1], scalars[2]);
  });
}
LogicalResult SelectOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  if (!isa<FloatType>(getType().getElementType()))
    return success();
  Expr condition(builder, getLoc(), getCondition());
  Expr dy = condition.with(resultGradients[0]);
  operandGradients[1] = condition.select(dy, dy.splat(0));
  operandGradients[2] = condition.select(dy.splat(0), dy);
  return success();
}
LoopKind SelectOp::getLoopKind() { return LoopKind::elementwise; }

// Clamp -------------------------------------------------------------------------------------------

LogicalResult ClampOp::verify() {
  double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  if (std::isnan(low) || std::isnan(high))
    return emitOpError("expected low and high to be numbers, found ") << low << " and " << high;
  if (isa<FloatType>(getType().getElementType()))
    return success();
  auto whole = [](double x) { return std::isinf(x) || x == std::floor(x); };
  if (!whole(low) || !whole(high))
    return emitOpError("expected whole or infinite limits of integers, found ")
           << low << " and " << high;
  return success();
}

/// The limit as an element of the operand's type; a limit out of range becomes the nearest number.
static HostTensor limitOf(RankedTensorType type, const APFloat &limit) {
  HostTensor one(RankedTensorType::get({}, type.getElementType()));
  one.setFloat(0, limit.convertToDouble());
  return one;
}

void ClampOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  HostTensor &y = results[0];
  RankedTensorType type = y.getType();
  if (isa<FloatType>(type.getElementType())) {
    for (int64_t i = 0, n = y.size(); i < n; ++i) {
      double x = operands[0].getFloat(i);
      x = low > x ? low : x;
      y.setFloat(i, high < x ? high : x);
    }
    return;
  }
  int64_t least = limitOf(type, getLow()).getInt(0), most = limitOf(type, getHigh()).getInt(0);
  auto less = [&](int64_t a, int64_t b) {
    return isUnsigned(type) ? uint64_t(a) < uint64_t(b) : a < b;
  };
  for (int64_t i = 0, n = y.size(); i < n; ++i) {
    int64_t x = operands[0].getInt(i);
    x = less(x, least) ? least : x;
    y.setInt(i, less(most, x) ? most : x);
  }
}

SmallVector<Value> ClampOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  return lowerPointwise(builder, *this, operands, [&](ArrayRef<Scalar> scalars) {
    Scalar x = scalars[0];
    auto limit = [&](const APFloat &f) {
      return x.isFloat() ? x.number(f.convertToDouble())
                         : x.integer(limitOf(getType(), f).getInt(0));
    };
    // The constant first: NaN passes, and a float vector needs one max and one min instruction.
    Scalar low = limit(getLow()), high = limit(getHigh());
    Scalar raised = (low > x).select(low, x);
    return (high < raised).select(high, raised);
  });
}

LogicalResult ClampOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                     SmallVectorImpl<Value> &operandGradients) {
  if (!isa<FloatType>(getType().getElementType()))
    return success();
  Expr x(builder, getLoc(), getOperand());
  Expr dy = x.with(resultGradients[0]);
  Expr inside =
      x.compare(ComparePredicate::gt, x.splat(getLow().convertToDouble()))
          .apply<AndOp>(x.compare(ComparePredicate::lt, x.splat(getHigh().convertToDouble())));
  operandGradients[0] = inside.select(dy, dy.splat(0));
  return success();
}
LoopKind ClampOp::getLoopKind() { return LoopKind::elementwise; }

// Is finite ---------------------------------------------------------------------------------------

LogicalResult IsFiniteOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                           SmallVectorImpl<Type> &types) {
  types.push_back(boolTensor(adaptor.getOperand().getType()));
  return success();
}
void IsFiniteOp::evaluate(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  for (int64_t i = 0, n = operands[0].size(); i < n; ++i)
    results[0].setInt(i, std::isfinite(operands[0].getFloat(i)));
}
SmallVector<Value> IsFiniteOp::lowerToLoops(OpBuilder &builder, ValueRange operands) {
  return lowerPointwise(builder, *this, operands, [](ArrayRef<Scalar> scalars) {
    Scalar magnitude = scalars[0].apply<math::AbsFOp>();
    return magnitude < magnitude.number(std::numeric_limits<double>::infinity());
  });
}
LogicalResult IsFiniteOp::buildGradient(OpBuilder &, ValueRange, SmallVectorImpl<Value> &) {
  return success();
}
LoopKind IsFiniteOp::getLoopKind() { return LoopKind::elementwise; }
