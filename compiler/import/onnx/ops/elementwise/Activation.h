// The activation functions that RNN, GRU and LSTM name.
#ifndef COMPILER_IMPORT_ONNX_OPS_ELEMENTWISE_ACTIVATION_H
#define COMPILER_IMPORT_ONNX_OPS_ELEMENTWISE_ACTIVATION_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// A function with up to two parameters, alpha and then beta, initialized to ONNX's defaults.
struct RecurrentActivation {
  mlir::grad::Expr (*function)(mlir::grad::Expr x, double alpha, double beta);
  unsigned parameterCount;
  double alpha, beta;

  mlir::grad::Expr operator()(mlir::grad::Expr x) const { return function(x, alpha, beta); }
};

/// The function of that name, ignoring case.
std::optional<RecurrentActivation> findRecurrentActivation(llvm::StringRef name);

} // namespace gradc

#endif
