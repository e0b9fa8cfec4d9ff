// What the methods of elementwise ops have in common: loops over elements, scalars and gradients.
#ifndef DIALECTS_GRAD_POINTWISE_H
#define DIALECTS_GRAD_POINTWISE_H

#include "dialects/grad/Build.h"
#include "dialects/grad/Scalar.h"

namespace mlir::grad {

/// result[i] = formula(operand[i]), in f64 for floats and in i64 for integers.
void evaluateUnary(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results,
                   double (*floats)(double),
                   int64_t (*integers)(int64_t, bool isUnsigned) = nullptr);
/// result[i] = formula(a[i], b[i]); bools count as unsigned integers.
void evaluateBinary(ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results,
                    double (*floats)(double, double),
                    int64_t (*integers)(int64_t, int64_t, bool isUnsigned));

/// The operands' element type reads as unsigned: unsigned integers and bools.
bool isUnsigned(Type tensor);

/// A pointwise loop whose body sees the operands as scalars of their own kind; 16-bit floats come
/// widened to f32 and are rounded back.
SmallVector<Value> lowerPointwise(OpBuilder &builder, Operation *op, ValueRange operands,
                                  llvm::function_ref<Scalar(ArrayRef<Scalar>)> body);
SmallVector<Value> lowerUnary(OpBuilder &builder, Operation *op, ValueRange operands,
                              Scalar (*formula)(Scalar));
SmallVector<Value> lowerBinary(OpBuilder &builder, Operation *op, ValueRange operands,
                               Scalar (*formula)(Scalar, Scalar));

/// Asks the formula; integers have no gradient.
LogicalResult unaryGradient(OpBuilder &builder, Operation *op, ValueRange resultGradients,
                            SmallVectorImpl<Value> &operandGradients,
                            Value (*backward)(Expr x, Expr y, Expr dy));
LogicalResult binaryGradient(OpBuilder &builder, Operation *op, ValueRange resultGradients,
                             SmallVectorImpl<Value> &operandGradients,
                             std::pair<Value, Value> (*backward)(Expr a, Expr b, Expr y, Expr dy));

} // namespace mlir::grad

#endif
