// The distinct kernels of a module: identical computations share one kernel.
#ifndef PASSES_KERNEL_KERNELTABLE_H
#define PASSES_KERNEL_KERNELTABLE_H

#include "dialects/exec/Exec.h"

#include <unordered_map>

namespace gradc {

class KernelTable {
public:
  /// Starts with the kernels of `module`, which must not change or be erased while the table is
  /// used.
  KernelTable(mlir::ModuleOp module, mlir::SymbolTable &symbols);

  /// Takes a kernel outside any module. If the table has a kernel with the same code, types and
  /// layouts, destroys `kernel` and returns that one. Otherwise inserts `kernel` into the module
  /// under a unique name, at its end or before `at`, and returns it.
  mlir::exec::KernelOp findOrInsert(mlir::exec::KernelOp kernel, mlir::Block::iterator at = {});

private:
  mlir::SymbolTable &symbols;
  std::unordered_multimap<size_t, mlir::exec::KernelOp> kernels; ///< by `hashOf`
};

} // namespace gradc

#endif
