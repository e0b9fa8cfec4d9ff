// The level that a module is compiled for, given by its attribute `exec.level`.
#ifndef PASSES_MODULELEVEL_H
#define PASSES_MODULELEVEL_H

#include "dialects/exec/Level.h"
#include "mlir/IR/BuiltinOps.h"

namespace gradc {

/// The module's level; null if the module names none, or one that is not in the table.
inline const mlir::exec::Level *namedLevel(mlir::ModuleOp module) {
  auto name = module->getAttrOfType<mlir::StringAttr>("exec.level");
  return name ? mlir::exec::findLevel(name) : nullptr;
}

/// The module's level, or this machine's if the module names none. Null, with an error, for a name
/// that is not in the table.
inline const mlir::exec::Level *levelOrNative(mlir::ModuleOp module) {
  const mlir::exec::Level *level =
      module->hasAttr("exec.level") ? namedLevel(module) : mlir::exec::nativeLevel();
  if (!level)
    module.emitError("expected `exec.level` to name a level");
  return level;
}

} // namespace gradc

#endif
