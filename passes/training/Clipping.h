// Gradient clipping.
#ifndef PASSES_TRAINING_CLIPPING_H
#define PASSES_TRAINING_CLIPPING_H

#include "dialects/grad/Build.h"

namespace gradc {

/// The kind of clipping and its limit, as given by `grad.clip`.
struct Clipping {
  enum Kind {
    none,      ///< computes only the norm
    value,     ///< each element is clamped to [-limit, limit]
    norm,      ///< each tensor is scaled by min(1, limit / (its norm + 1e-6))
    globalNorm ///< all are scaled by min(1, limit / (the global norm + 1e-6))
  };
  Kind kind = none;
  double limit = 0;

  static mlir::FailureOr<Clipping> parse(mlir::Operation *at, mlir::Attribute attribute);
  /// Clips `gradients` at the insertion point of `like`, a scalar of the type to accumulate in.
  /// Returns the global norm before clipping. `isPart`: whether a rank has only its part of that
  /// gradient; `sum` adds a number up over ranks.
  mlir::Value build(mlir::grad::Expr like, llvm::MutableArrayRef<mlir::Value> gradients,
                    llvm::function_ref<bool(size_t)> isPart,
                    llvm::function_ref<mlir::Value(mlir::Value)> sum) const;
};

} // namespace gradc

#endif
