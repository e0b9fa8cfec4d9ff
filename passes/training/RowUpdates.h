// Updates of only those rows of a parameter that a step reads: embedding tables.
#ifndef PASSES_TRAINING_ROWUPDATES_H
#define PASSES_TRAINING_ROWUPDATES_H

#include "dialects/grad/Build.h"
#include "passes/training/Updates.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// The reads of a parameter, if all of them are of whole rows.
struct RowReads {
  llvm::SmallVector<mlir::grad::RowsOpInterface> ops;
  /// The rows that they read together, duplicates included.
  int64_t count = 0;
  /// A user of the parameter that is no such read; if there is one, `ops` is incomplete.
  mlir::Operation *other = nullptr;

  static RowReads of(mlir::grad::ReadOp parameter);
};

/// The gradient of a parameter as a list of rows, each of which has its index once. Positions of
/// the list that have no row of their own have an index out of range, and zeros.
struct RowGradient {
  mlir::Value rows, values;

  /// Adds up the gradients of what was read of `table` at `rows`. Where a row was read several
  /// times, they are added in order of position, and the sum is where the row was first read.
  /// `forCuda`: every row of a list would search all updates, so pairs are compared.
  static RowGradient unite(mlir::OpBuilder &builder, mlir::Value table,
                           llvm::ArrayRef<mlir::Value> rows, llvm::ArrayRef<mlir::Value> gradients,
                           bool forCuda);
  /// These rows of a table.
  mlir::Value readFrom(mlir::OpBuilder &builder, mlir::Value table) const;
  /// The table with these rows replaced.
  mlir::Value writeTo(mlir::OpBuilder &builder, mlir::Value table, mlir::Value newRows) const;
};

/// Whether a step updates a parameter by rows: if its state is lazy, or if the bits are those of
/// the update of all rows and it takes less time. Reports lazy states that cannot be.
mlir::FailureOr<bool> updatesByRows(mlir::func::FuncOp function, mlir::grad::StateOp owner,
                                    const UpdateRule &rule, const RowReads &reads, bool forCuda);

} // namespace gradc

#endif
