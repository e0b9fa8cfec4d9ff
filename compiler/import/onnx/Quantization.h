// Quantization as ops on quantized tensors share it: scales, zero points, saturation.
#ifndef COMPILER_IMPORT_QUANTIZATION_H
#define COMPILER_IMPORT_QUANTIZATION_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// Operands of one quantized tensor.
struct Quantized {
  unsigned value, scale, zeroPoint;
};
/// Checks the elements of a quantized operand, its scale and its zero point.
mlir::LogicalResult expectQuantized(Node &n, const Quantized &q);

/// round(x) + zero point, saturated to the zero point's elements. x and `zeroPoint` have one shape.
mlir::grad::Expr saturate(mlir::grad::Expr x, mlir::grad::Expr zeroPoint, mlir::Type element);

} // namespace gradc

#endif
