// Norms, of which reductions, pools and normalizations are made.
#ifndef COMPILER_IMPORT_ONNX_NORM_H
#define COMPILER_IMPORT_ONNX_NORM_H

#include "dialects/grad/Build.h"

namespace gradc {

/// The p-norm of x where `sum` is the sum of |x|^p. Its gradient at 0 is 0, as PyTorch's: the root
/// has none there.
mlir::grad::Expr normOf(mlir::grad::Expr sum, int64_t p);

} // namespace gradc

#endif
