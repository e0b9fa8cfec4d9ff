// Norms, of which reductions, pools and normalizations are made.
#ifndef COMPILER_IMPORT_ONNX_OPS_NORM_H
#define COMPILER_IMPORT_ONNX_OPS_NORM_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// The p-norm of x where `sum` is the sum of |x|^p. Its gradient at 0 is 0, as PyTorch's: the root
/// has none there.
mlir::grad::Expr normOf(mlir::grad::Expr sum, int64_t p);

/// The results of `normalize`.
struct Normalized {
  mlir::grad::Expr result, mean, variance;
};
/// Normalizes x, which is computed from operand 0, over `dims`.
mlir::FailureOr<Normalized> normalize(Node &n, mlir::grad::Expr x, llvm::ArrayRef<int64_t> dims,
                                      double epsilon);

} // namespace gradc

#endif
