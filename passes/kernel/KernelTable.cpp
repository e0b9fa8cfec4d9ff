// Compares kernels by their regions and by the attributes that affect code, but not by names,
// locations and counts of flops and bytes.
#include "passes/kernel/KernelTable.h"

using namespace mlir;
using namespace gradc;

static size_t hashOf(exec::KernelOp kernel) {
  llvm::hash_code hash =
      llvm::hash_combine(kernel.getLayoutsAttr(), kernel.getPartsAttr(), kernel.getScheduleAttr(),
                         kernel.getLibraryAttr(), kernel.getExtentsAttr());
  for (BlockArgument argument : kernel.getBlock().getArguments())
    hash = llvm::hash_combine(hash, argument.getType());
  for (Operation &op : kernel.getBlock())
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(&op, OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::IgnoreLocations));
  return size_t(hash);
}

static bool isSame(exec::KernelOp a, exec::KernelOp b) {
  auto inplace = [](exec::KernelOp kernel) {
    return kernel.getInplace().value_or(ArrayRef<int64_t>());
  };
  return a.getLayoutsAttr() == b.getLayoutsAttr() && a.getPartsAttr() == b.getPartsAttr() &&
         a.getScheduleAttr() == b.getScheduleAttr() && a.getBlocksAttr() == b.getBlocksAttr() &&
         a.getLibraryAttr() == b.getLibraryAttr() && a.getExtentsAttr() == b.getExtentsAttr() &&
         inplace(a) == inplace(b) && a.getPatchAttr() == b.getPatchAttr() &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

KernelTable::KernelTable(ModuleOp module, SymbolTable &symbols) : symbols(symbols) {
  for (auto kernel : module.getOps<exec::KernelOp>())
    kernels.emplace(hashOf(kernel), kernel);
}

exec::KernelOp KernelTable::findOrInsert(exec::KernelOp kernel, Block::iterator at) {
  size_t hash = hashOf(kernel);
  auto [begin, end] = kernels.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (isSame(kernel, it->second)) {
      kernel->destroy();
      return it->second;
    }
  kernels.emplace(hash, kernel);
  symbols.insert(kernel, at);
  return kernel;
}
