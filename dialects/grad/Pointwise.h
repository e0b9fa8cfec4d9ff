// Loops over elements, scalars and gradients shared by the methods of elementwise ops.
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

/// Whether the operands' element type is read as unsigned: unsigned integers and bools.
bool isUnsigned(Type tensor);

/// A pointwise loop whose body gets the operands as scalars with their signedness. 16-bit floats
/// are widened to f32 for the body, and the result is rounded back.
SmallVector<Value> lowerPointwise(OpBuilder &builder, Operation *op, ValueRange operands,
                                  llvm::function_ref<Scalar(ArrayRef<Scalar>)> body);
SmallVector<Value> lowerUnary(OpBuilder &builder, Operation *op, ValueRange operands,
                              Scalar (*formula)(Scalar));
SmallVector<Value> lowerBinary(OpBuilder &builder, Operation *op, ValueRange operands,
                               Scalar (*formula)(Scalar, Scalar));

/// Builds the gradient from the op's formula; integers have none.
LogicalResult unaryGradient(OpBuilder &builder, Operation *op, ValueRange resultGradients,
                            SmallVectorImpl<Value> &operandGradients,
                            Value (*backward)(Expr x, Expr y, Expr dy));
LogicalResult binaryGradient(OpBuilder &builder, Operation *op, ValueRange resultGradients,
                             SmallVectorImpl<Value> &operandGradients,
                             std::pair<Value, Value> (*backward)(Expr a, Expr b, Expr y, Expr dy));

} // namespace mlir::grad

#endif
