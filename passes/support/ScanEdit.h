// Changes to a scan while ops leave it: more operands, more results, fewer steps at a time.
#ifndef PASSES_SUPPORT_SCANEDIT_H
#define PASSES_SUPPORT_SCANEDIT_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// How a value of a scan's region changes from step to step.
enum class Change { never, byStep, byCarried };

/// That of each value of the region. What cannot be computed over all steps at once counts as
/// changing by what is carried.
class Changes {
public:
  explicit Changes(mlir::grad::ScanOp scan);
  Change of(mlir::Value value) const;
  Change of(mlir::Operation *op) const { return of(op->getResult(0)); }
  void set(mlir::Value value, Change change) { known[value] = change; }
  /// The operands that change.
  llvm::SmallBitVector changing(mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::Value, Change> known; ///< constants are in no map
};

/// Adds an operand that is the same in each step, or a stack, and returns the region's argument.
mlir::BlockArgument addInvariant(mlir::grad::ScanOp scan, mlir::Value value);
mlir::BlockArgument addStack(mlir::grad::ScanOp scan, mlir::Value stack);

/// The stack of a value of the region, where it is an operand or a result already; null: it is not.
mlir::Value findStack(mlir::grad::ScanOp scan, mlir::Value inside);

/// Replaces the scan by one that returns stacks of `values`, too, which are in its region.
mlir::grad::ScanOp addResults(mlir::grad::ScanOp scan, mlir::ValueRange values);

/// Replaces the scan by one around a scan of `steps` steps, a divisor of its trips, and returns the
/// inner one.
mlir::grad::ScanOp splitScan(mlir::grad::ScanOp scan, int64_t steps);

} // namespace gradc

#endif
