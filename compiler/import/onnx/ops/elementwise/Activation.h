// The activation functions that nodes name: RNN, GRU and LSTM, and fused products of ONNX Runtime.
#ifndef COMPILER_IMPORT_ONNX_OPS_ELEMENTWISE_ACTIVATION_H
#define COMPILER_IMPORT_ONNX_OPS_ELEMENTWISE_ACTIVATION_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// A function with up to two parameters, alpha and then beta, initialized to ONNX's defaults.
struct NamedActivation {
  mlir::grad::Expr (*function)(mlir::grad::Expr x, double alpha, double beta);
  unsigned parameterCount;
  double alpha, beta;

  mlir::grad::Expr operator()(mlir::grad::Expr x) const { return function(x, alpha, beta); }
};

/// The function of that name, ignoring case.
std::optional<NamedActivation> findRecurrentActivation(llvm::StringRef name);
/// The same among those that ONNX Runtime fuses with the product before them. Their parameters are
/// the node's attributes alpha, beta, gamma, min and max, in this order.
std::optional<NamedActivation> findFusedActivation(llvm::StringRef name);

} // namespace gradc

#endif
