// Edits to a scan when ops move out of it: more operands, more results, fewer steps at a time.
#ifndef PASSES_GRAPH_SCANEDIT_H
#define PASSES_GRAPH_SCANEDIT_H

#include "dialects/grad/Grad.h"

namespace gradc {

/// How a value of a scan's region changes from step to step.
enum class Change { never, byStep, byCarried };

/// The change of each value of the region. Values that cannot be computed over all steps at once
/// count as `byCarried`.
class Changes {
public:
  explicit Changes(mlir::grad::ScanOp scan);
  Change of(mlir::Value value) const;
  Change of(mlir::Operation *op) const { return of(op->getResult(0)); }
  void set(mlir::Value value, Change change) { known[value] = change; }
  /// The operands that change.
  llvm::SmallBitVector changing(mlir::Operation *op) const;

private:
  llvm::DenseMap<mlir::Value, Change> known; ///< does not contain constants
};

/// Add an invariant or a stack as an operand, and return the region's argument for it.
mlir::BlockArgument addInvariant(mlir::grad::ScanOp scan, mlir::Value value);
mlir::BlockArgument addStack(mlir::grad::ScanOp scan, mlir::Value stack);

/// The arguments that receive an operand of a scan or an if, one per region, if they hold it in
/// every iteration or branch. Empty for other operands.
llvm::SmallVector<mlir::BlockArgument> constantArguments(mlir::OpOperand &operand);

/// The stack of a value of the region if it already is an operand or a result of the scan; else
/// null.
mlir::Value findStack(mlir::grad::ScanOp scan, mlir::Value inside);

/// Replaces the scan by one that also returns stacks of `values`, values of its region.
mlir::grad::ScanOp addResults(mlir::grad::ScanOp scan, mlir::ValueRange values);

/// Replaces the scan by a nest whose inner scan has `steps` steps, a divisor of the trips. Returns
/// the inner scan.
mlir::grad::ScanOp splitScan(mlir::grad::ScanOp scan, int64_t steps);

} // namespace gradc

#endif
