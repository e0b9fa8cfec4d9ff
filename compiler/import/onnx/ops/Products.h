// Products shared by ops on floats and ops on quantized integers.
#ifndef COMPILER_IMPORT_ONNX_OPS_PRODUCTS_H
#define COMPILER_IMPORT_ONNX_OPS_PRODUCTS_H

#include "compiler/import/onnx/ops/Window.h"

namespace gradc {

/// Whether products of vectors of this element type are best written as sums of products: a kernel
/// of a matrix product would have one row and one column. Types that are narrower than their sums
/// would round each product.
bool sumsProducts(mlir::Type element);

/// numpy.matmul of `a` and `b`, which are computed from operands `lhs` and `rhs`.
mlir::FailureOr<mlir::grad::Expr> numpyMatmul(Node &n, mlir::grad::Expr a, mlir::grad::Expr b,
                                              unsigned lhs, unsigned rhs);

/// The sizes of a checked convolution. `inputs` and `filters` are the channels of one group.
struct Channels {
  int64_t groups, inputs, filters;

  bool isDepthwise() const { return groups > 1 && inputs == 1 && filters == 1; }
  int64_t results() const { return groups * filters; }
  llvm::StringRef dims() const {
    return groups == 1 ? "nc,co->no" : isDepthwise() ? "nc,c->nc" : "ngc,gco->ngo";
  }
};

/// Reads and checks operand 0, the filters (operand `weight`), and the window of a convolution.
mlir::FailureOr<std::pair<Channels, mlir::grad::WindowAttr>> readConvolution(Node &n,
                                                                             unsigned weight = 1);
/// Convolves [N, C, d...] to [N, O, d'...]; `bias` may be null. The weight of a transposed
/// convolution is [C, O / group, k...].
mlir::grad::Expr convolve(Node &n, mlir::grad::Expr x, mlir::grad::Expr weight, mlir::Value bias,
                          const Channels &channels, mlir::grad::WindowAttr window,
                          bool transposed = false);

} // namespace gradc

#endif
