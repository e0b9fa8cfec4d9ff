// Dropout as primitives.
#ifndef DIALECTS_GRAD_RANDOM_H
#define DIALECTS_GRAD_RANDOM_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// x / (1 - ratio) with probability 1 - ratio, else 0, as `grad.dropout` says.
Expr dropout(Expr x, Value seed, Value step, uint32_t stream, double ratio);

} // namespace mlir::grad

#endif
