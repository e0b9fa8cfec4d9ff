// Limits on gradients before the optimizer sees them.
#ifndef PASSES_SUPPORT_CLIPPING_H
#define PASSES_SUPPORT_CLIPPING_H

#include "dialects/grad/Build.h"

namespace gradc {

/// One of the ways to clip, and its limit: the content of `grad.clip`.
struct Clipping {
  enum Kind {
    none,      ///< asked for the norm alone
    value,     ///< each element lies between -limit and limit
    norm,      ///< each tensor is scaled by min(1, limit / (its norm + 1e-6))
    globalNorm ///< all are scaled by min(1, limit / (the norm of all + 1e-6))
  };
  Kind kind = none;
  double limit = 0;

  static mlir::FailureOr<Clipping> parse(mlir::Operation *at, mlir::Attribute attribute);
  /// Clips `gradients` at the place of `like`, a scalar of the type to add up in. Returns the norm
  /// of all of them before. `whole` makes a sum of squares one of whole tensors, where gradients
  /// are parts of them.
  mlir::Value build(mlir::grad::Expr like, llvm::MutableArrayRef<mlir::Value> gradients,
                    llvm::function_ref<mlir::Value(mlir::Value)> whole) const;
};

} // namespace gradc

#endif
