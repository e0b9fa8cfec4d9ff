// The functions that a pass works on.
#ifndef PASSES_ENTRY_FUNCTIONS_H
#define PASSES_ENTRY_FUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace gradc {

/// The module's functions that have a body. A declaration, which only IR written by hand contains,
/// has nothing to work on, and no block to look at.
inline auto functionsOf(mlir::ModuleOp module) {
  return llvm::make_filter_range(
      module.getOps<mlir::func::FuncOp>(),
      [](mlir::func::FuncOp function) { return !function.isExternal(); });
}

/// Null, too, if the function is a declaration.
inline mlir::func::FuncOp withBody(mlir::func::FuncOp function) {
  return function && !function.isExternal() ? function : mlir::func::FuncOp();
}

} // namespace gradc

#endif
