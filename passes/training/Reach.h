// Determines whether a gradient reaches a value and, if not, which op blocks it.
#ifndef PASSES_TRAINING_REACH_H
#define PASSES_TRAINING_REACH_H

#include "dialects/grad/Grad.h"

#include <string>

namespace gradc {

enum class Arrival {
  arrives,
  /// The objective does not depend on the value.
  unconnected,
  /// Every path contains an op with a zero gradient (rounding, an index, a comparison).
  stopped,
  /// An op on a path has no gradient.
  missing,
};

struct Reach {
  Arrival arrival;
  /// The op nearest to the objective that stops the gradient or has none.
  mlir::Operation *op = nullptr;
};

/// One answer per target; all targets are in `objective`'s block. Does not change the IR.
llvm::SmallVector<Reach> findReach(mlir::Value objective, mlir::ValueRange targets);

/// A readable name of `value`: `parameter "fc1.weight"`, `input "x"`, or its op's name.
std::string describeValue(mlir::Value value);

} // namespace gradc

#endif
