// Averages of pools, of floats and of quantized tensors.
#ifndef COMPILER_IMPORT_ONNX_OPS_WINDOW_POOLING_H
#define COMPILER_IMPORT_ONNX_OPS_WINDOW_POOLING_H

#include "compiler/import/onnx/ops/Window.h"

namespace gradc {

/// With count_include_pad, the divisor of an average counts the given pads, or also the positions
/// beyond them that ceil_mode adds.
enum class CountedPads { given, widened };
/// The averages over the windows of an AveragePool, whose operand 0 has the numbers `x`.
mlir::FailureOr<mlir::grad::Expr> averageWindows(Node &n, mlir::grad::Expr x, CountedPads pads);

} // namespace gradc

#endif
