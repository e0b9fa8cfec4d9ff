// Scales, zero points, and saturation, shared by all ops on quantized tensors.
#ifndef COMPILER_IMPORT_ONNX_OPS_QUANTIZATION_QUANTIZATION_H
#define COMPILER_IMPORT_ONNX_OPS_QUANTIZATION_QUANTIZATION_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// The names of the nodes that a job adds to train for quantization begin with it.
constexpr llvm::StringLiteral quantizationPrefix = "quantize:";

/// Whether a node rounds to codes or computes with them, or a job adds it to train for that.
bool isOfQuantization(const onnx::NodeProto &node);

/// The operands of one quantized tensor.
struct Quantized {
  unsigned value, scale, zeroPoint;
};
/// Checks the element types of a quantized operand, its scale, and its zero point.
mlir::LogicalResult expectQuantized(Node &n, const Quantized &q);

/// numpy.matmul of two quantized operands, in f32.
mlir::FailureOr<mlir::grad::Expr> multiplyCodes(Node &n, const Quantized &lhs,
                                                const Quantized &rhs);

/// A tensor with one number for each `block` elements along `dim`, repeated to `shape`.
mlir::grad::Expr spreadBlocks(mlir::grad::Expr value, llvm::ArrayRef<int64_t> shape, int64_t dim,
                              int64_t block);

/// The ends of a range that contains 0; scalars.
struct ZeroRange {
  mlir::grad::Expr low, high;
};
/// The range of `x`, which has elements, extended to contain 0.
ZeroRange rangeWithZero(mlir::grad::Expr x);

/// The results of DynamicQuantizeLinear.
struct DynamicCodes {
  mlir::grad::Expr codes, scale, zero;
};
/// Quantizes `x`, which has elements, to bytes, over its range extended to contain 0.
DynamicCodes quantizeDynamically(mlir::grad::Expr x);
/// The same of operand `i`, checked.
mlir::FailureOr<DynamicCodes> quantizeDynamically(Node &n, unsigned i);

/// A matrix of codes; scales and zero points are one number or one per column, and a missing zero
/// point is 0.
struct CodedMatrix {
  mlir::grad::Expr codes, scale;
  std::optional<mlir::grad::Expr> zero;
};
/// The product of the matrix `x`, which is quantized in the run, and `weights`, in x's type.
mlir::grad::Expr multiplyDynamically(mlir::grad::Expr x, const CodedMatrix &weights);

/// round(x) + zero point, saturated to the zero point's type. x and `zeroPoint` have the same
/// shape.
mlir::grad::Expr saturate(mlir::grad::Expr x, mlir::grad::Expr zeroPoint, mlir::Type element);

} // namespace gradc

#endif
