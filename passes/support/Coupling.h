// Does each row's result depend on that row alone?
#ifndef PASSES_COUPLING_H
#define PASSES_COUPLING_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// The first op of an entry's body that couples rows of its batch: a sum over them, a product of
/// rows with rows, or an op that nothing is known about. Null: each row's results depend on that
/// row alone. `batch`: rows of the largest run; `isBatched`: whether an argument holds them.
mlir::Operation *findCoupling(mlir::Block &block, int64_t batch,
                              llvm::function_ref<bool(mlir::BlockArgument)> isBatched);

} // namespace gradc

#endif
