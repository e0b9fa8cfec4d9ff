// Numbers of elements, which may be numbers of the run, and divisions by them.
#ifndef DIALECTS_GRAD_COUNT_H
#define DIALECTS_GRAD_COUNT_H

#include "dialects/grad/Build.h"

namespace mlir::grad {

/// `x` times `factor` over the number of elements of `counted` in `dims`. That is a constant unless
/// the dims may hold the batch of the entry under construction, whose size is a number of the run.
Expr overCount(Expr x, Value counted, ArrayRef<int64_t> dims, double factor = 1);

/// Whether the op computes a number from the rows of the run and constants alone: 1 / n of a mean.
bool isCountOfRun(Operation *op);

} // namespace mlir::grad

#endif
