// The distinct kernels of a module: two computations that are the same share one.
#ifndef PASSES_KERNELTABLE_H
#define PASSES_KERNELTABLE_H

#include "dialects/exec/Exec.h"

#include <unordered_map>

namespace gradc {

class KernelTable {
public:
  /// Starts with the kernels of `module`. They may not change or go while the table is used.
  KernelTable(mlir::ModuleOp module, mlir::SymbolTable &symbols);

  /// Takes a kernel that is in no module. Returns the one in the table that is the same code over
  /// the same types and layouts, and destroys `kernel`; or `kernel` itself, now in the module, at
  /// its end or in front of `at`, under a name of its own.
  mlir::exec::KernelOp findOrInsert(mlir::exec::KernelOp kernel, mlir::Block::iterator at = {});

private:
  mlir::SymbolTable &symbols;
  std::unordered_multimap<size_t, mlir::exec::KernelOp> kernels; ///< by `hashOf`
};

} // namespace gradc

#endif
