// Loops over elements, scalars and gradients shared by the elementwise ops.
#include "dialects/grad/Pointwise.h"

using namespace mlir;
using namespace mlir::grad;

bool grad::isUnsigned(Type tensor) {
  Type e = getElementTypeOrSelf(tensor);
  return e.isUnsignedInteger() || e.isInteger(1);
}

void grad::evaluateUnary(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results,
                         double (*floats)(double), int64_t (*integers)(int64_t, bool)) {
  const HostTensor &x = operands[0];
  HostTensor &y = results[0];
  bool isFloat = isa<FloatType>(x.getElementType());
  for (int64_t i = 0, n = x.size(); i < n; ++i) {
    if (isFloat)
      y.setFloat(i, floats(x.getFloat(i)));
    else
      y.setInt(i, integers(x.getInt(i), isUnsigned(x.getType())));
  }
}

void grad::evaluateBinary(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results,
                          double (*floats)(double, double),
                          int64_t (*integers)(int64_t, int64_t, bool)) {
  const HostTensor &a = operands[0], &b = operands[1];
  HostTensor &y = results[0];
  bool isFloat = isa<FloatType>(a.getElementType());
  for (int64_t i = 0, n = a.size(); i < n; ++i) {
    if (isFloat)
      y.setFloat(i, floats(a.getFloat(i), b.getFloat(i)));
    else
      y.setInt(i, integers(a.getInt(i), b.getInt(i), isUnsigned(a.getType())));
  }
}

SmallVector<Value> grad::lowerPointwise(OpBuilder &builder, Operation *op, ValueRange operands,
                                        llvm::function_ref<Scalar(ArrayRef<Scalar>)> body) {
  return pointwiseLoops(builder, op, operands,
                        [&](OpBuilder &nested, Location loc, ValueRange args) {
                          SmallVector<Scalar> scalars;
                          for (auto [arg, operand] : llvm::zip_equal(args, op->getOperands()))
                            scalars.emplace_back(nested, loc, arg, isUnsigned(operand.getType()));
                          return SmallVector<Value>{body(scalars)};
                        });
}

SmallVector<Value> grad::lowerUnary(OpBuilder &builder, Operation *op, ValueRange operands,
                                    Scalar (*formula)(Scalar)) {
  return lowerPointwise(builder, op, operands,
                        [&](ArrayRef<Scalar> scalars) { return formula(scalars[0]); });
}

SmallVector<Value> grad::lowerBinary(OpBuilder &builder, Operation *op, ValueRange operands,
                                     Scalar (*formula)(Scalar, Scalar)) {
  return lowerPointwise(builder, op, operands,
                        [&](ArrayRef<Scalar> scalars) { return formula(scalars[0], scalars[1]); });
}

static bool isFloat(Value v) { return isa<FloatType>(getElementTypeOrSelf(v.getType())); }

LogicalResult grad::unaryGradient(OpBuilder &builder, Operation *op, ValueRange resultGradients,
                                  SmallVectorImpl<Value> &operandGradients,
                                  Value (*backward)(Expr, Expr, Expr)) {
  if (!isFloat(op->getOperand(0)))
    return success();
  auto expr = [&](Value v) { return Expr(builder, op->getLoc(), v); };
  operandGradients[0] =
      backward(expr(op->getOperand(0)), expr(op->getResult(0)), expr(resultGradients[0]));
  return success();
}

LogicalResult grad::binaryGradient(OpBuilder &builder, Operation *op, ValueRange resultGradients,
                                   SmallVectorImpl<Value> &operandGradients,
                                   std::pair<Value, Value> (*backward)(Expr, Expr, Expr, Expr)) {
  if (!isFloat(op->getOperand(0)))
    return success();
  auto expr = [&](Value v) { return Expr(builder, op->getLoc(), v); };
  std::tie(operandGradients[0], operandGradients[1]) =
      backward(expr(op->getOperand(0)), expr(op->getOperand(1)), expr(op->getResult(0)),
               expr(resultGradients[0]));
  return success();
}
