// The level that a module is compiled for, given by its attribute `exec.level`.
#ifndef PASSES_ENTRY_MODULELEVEL_H
#define PASSES_ENTRY_MODULELEVEL_H

#include "dialects/exec/Level.h"
#include "mlir/IR/BuiltinOps.h"

namespace gradc {

inline constexpr llvm::StringLiteral levelName = "exec.level";

/// The name of the module's level; null if the module names none.
inline mlir::StringAttr levelNameOf(mlir::Operation *module) {
  return module->getAttrOfType<mlir::StringAttr>(levelName);
}
inline void setLevel(mlir::ModuleOp module, llvm::StringRef name) {
  module->setAttr(levelName, mlir::StringAttr::get(module.getContext(), name));
}

/// The module's level; null if the module names none, or one that is not in the table.
inline const mlir::exec::Level *namedLevel(mlir::ModuleOp module) {
  mlir::StringAttr name = levelNameOf(module);
  return name ? mlir::exec::findLevel(name) : nullptr;
}

/// The module's level, or this machine's if the module names none. Null, with an error, for a name
/// that is not in the table.
inline const mlir::exec::Level *levelOrNative(mlir::ModuleOp module) {
  const mlir::exec::Level *level =
      module->hasAttr(levelName) ? namedLevel(module) : mlir::exec::nativeLevel();
  if (!level)
    module.emitError("expected `exec.level` to name a level");
  return level;
}

} // namespace gradc

#endif
