// Averages of pools, of floats and of quantized tensors.
#ifndef COMPILER_IMPORT_ONNX_POOLING_H
#define COMPILER_IMPORT_ONNX_POOLING_H

#include "compiler/import/onnx/Window.h"

namespace gradc {

/// What the divisor of an average counts beside elements if count_include_pad is set: the pads, or
/// also what ceil_mode adds beyond them.
enum class CountedPads { given, widened };
/// The averages over the windows of an AveragePool, whose operand 0 has the numbers `x`.
mlir::FailureOr<mlir::grad::Expr> averageWindows(Node &n, mlir::grad::Expr x, CountedPads pads);

} // namespace gradc

#endif
