// Random words as arithmetic, and dropout as primitives.
#ifndef DIALECTS_GRAD_MATH_RANDOM_H
#define DIALECTS_GRAD_MATH_RANDOM_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// Builds word 0 of philox4x32-10(counter = (index, 0, stream, 0), key = (seed, step)). The
/// operands are i32, or vectors of i32 of one shape.
Value buildRandomBits(OpBuilder &builder, Location location, Value index, uint32_t stream,
                      Value seed, Value step);

/// x / (1 - ratio) with probability 1 - ratio, else 0, as `grad.dropout` says.
Expr dropout(Expr x, Value seed, Value step, uint32_t stream, double ratio);

} // namespace mlir::grad

#endif
