// An entry's ports (its arguments and results), and their roles in a step.
#ifndef PASSES_ENTRY_PORTS_H
#define PASSES_ENTRY_PORTS_H

#include "dialects/grad/EntryAttributes.h"
#include "dialects/grad/Grad.h"
#include "runtime/include/gradc/entries.h"
#include "runtime/include/gradc/roles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gradc {

/// The rows of the largest batch that an entry accepts; none: its arguments are not batches.
inline std::optional<int64_t> batchOf(mlir::func::FuncOp function) {
  auto batch = function->getAttrOfType<mlir::IntegerAttr>(mlir::grad::batchName);
  return batch ? std::optional(batch.getInt()) : std::nullopt;
}

/// The number of samples per row of an entry: one sample for each part of the step.
inline constexpr llvm::StringLiteral rowUnitName = "grad.row_unit";
inline int64_t rowUnitOf(mlir::func::FuncOp function) {
  auto unit = function->getAttrOfType<mlir::IntegerAttr>(rowUnitName);
  return unit ? unit.getInt() : 1;
}

/// The role of a port; "" if it has none.
llvm::StringRef roleOfArgument(mlir::func::FuncOp function, unsigned index);
llvm::StringRef roleOfResult(mlir::func::FuncOp function, unsigned index);

/// The first argument with that role, or null.
mlir::Value argumentOfRole(mlir::func::FuncOp function, llvm::StringRef role);
inline mlir::Value argumentOfRole(mlir::func::FuncOp function, gradc_role role) {
  return argumentOfRole(function, gradc_role_name(role));
}

/// The results with that role, in order; the first of them, or null.
llvm::SmallVector<mlir::Value> resultsOfRole(mlir::func::FuncOp function, llvm::StringRef role);
mlir::Value resultOfRole(mlir::func::FuncOp function, gradc_role role);

/// Appends a port.
mlir::Value addArgument(mlir::func::FuncOp function, mlir::Type type, llvm::StringRef name,
                        llvm::StringRef role);
void addResult(mlir::func::FuncOp function, mlir::Value value, llvm::StringRef name,
               llvm::StringRef role);
/// Removes the results with that role.
void eraseResults(mlir::func::FuncOp function, llvm::StringRef role);

} // namespace gradc

#endif
