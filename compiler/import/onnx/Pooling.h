// Averages of pools, of floats and of quantized tensors.
#ifndef COMPILER_IMPORT_ONNX_POOLING_H
#define COMPILER_IMPORT_ONNX_POOLING_H

#include "compiler/import/onnx/Window.h"

namespace gradc {

/// The averages over the windows of an AveragePool, whose operand 0 has the numbers `x`.
mlir::FailureOr<mlir::grad::Expr> averageWindows(Node &n, mlir::grad::Expr x);

} // namespace gradc

#endif
