// Checks whether each row's result depends on that row only.
#ifndef PASSES_ENTRY_COUPLING_H
#define PASSES_ENTRY_COUPLING_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// Tells whether the results of a row depend on more than that row.
struct RowDependence {
  /// The first op that couples rows: a sum over rows, a product of rows with rows, or an op that
  /// cannot be analyzed. Null: each row's results depend on that row only.
  mlir::Operation *coupling = nullptr;
  bool onNumber = false; ///< also on its number in the batch
};

/// Looks for it in an entry's body. `batch`: rows of the largest run; `isBatched`: whether an
/// argument holds rows. `checks`: values that may depend on all rows, since they only tell whether
/// any of them is wrong.
RowDependence findDependence(mlir::Block &block, int64_t batch,
                             llvm::function_ref<bool(mlir::BlockArgument)> isBatched,
                             mlir::ValueRange checks);

} // namespace gradc

#endif
