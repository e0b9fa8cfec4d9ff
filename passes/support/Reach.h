// Does a gradient arrive at a value, and if not, which op is in its way?
#ifndef PASSES_REACH_H
#define PASSES_REACH_H

#include "dialects/grad/Grad.h"

#include <string>

namespace gradc {

enum class Arrival {
  arrives,
  /// The objective does not depend on the value.
  unconnected,
  /// An op on every way has a zero gradient (rounding, an index, a comparison).
  stopped,
  /// An op on the way has no gradient.
  missing,
};

struct Reach {
  Arrival arrival;
  /// The op that stops the gradient or lacks one, the nearest to the objective.
  mlir::Operation *op = nullptr;
};

/// One answer a target, all of `objective`'s block. Changes no IR.
llvm::SmallVector<Reach> findReach(mlir::Value objective, mlir::ValueRange targets);

/// The name of `value` for people: `parameter "fc1.weight"`, `input "x"`, or its op's name.
std::string describeValue(mlir::Value value);

} // namespace gradc

#endif
