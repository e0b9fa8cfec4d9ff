// Finds the sums in a kernel that computes one number, and makes a kernel of each sum.
#include "passes/schedule/CutSums.h"

#include "dialects/grad/Build.h"
#include "passes/kernel/Clusters.h"
#include "passes/kernel/CutKernel.h"
#include "passes/schedule/ScheduleBlocks.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// The reductions to one number of a kernel that has no other results; none of them needs another.
static SmallVector<Value> findSums(exec::KernelOp kernel) {
  SmallVector<Value> sums;
  llvm::SmallPtrSet<Operation *, 16> behind; // what needs one
  if (kernel.getRoot().getRank() != 0)
    return {};
  for (Operation &op : kernel.getBlock().without_terminator()) {
    bool isBehind = llvm::any_of(op.getOperands(), [&](Value v) {
      return llvm::is_contained(sums, v) || behind.contains(v.getDefiningOp());
    });
    if (isBehind)
      behind.insert(&op);
    else if (loopKind(&op) == LoopKind::reduction && op.getNumResults() == 1 &&
             cast<RankedTensorType>(op.getResult(0).getType()).getRank() == 0)
      sums.push_back(op.getResult(0));
  }
  return sums;
}

/// Sums of sums as one: a team shares the steps of one sum, each member would walk the inner ones
/// alone. Names the op: only sums may be joined so.
static void joinSums(exec::KernelOp kernel) {
  for (auto outer : llvm::make_early_inc_range(kernel.getBlock().getOps<ReduceSumOp>())) {
    auto inner = outer.getOperand().getDefiningOp<ReduceSumOp>();
    if (!inner || !inner->hasOneUse() ||
        !isa<Float32Type, Float64Type>(outer.getType().getElementType()))
      continue;
    auto type = cast<RankedTensorType>(inner.getOperand().getType());
    SmallVector<int64_t> kept = otherDims(type.getRank(), inner.getDims()), dims(inner.getDims());
    for (int64_t d : outer.getDims())
      dims.push_back(kept[d]);
    llvm::sort(dims);
    OpBuilder builder(outer);
    outer.replaceAllUsesWith(Expr(builder, outer.getLoc(), inner.getOperand()).sum(dims).get());
    outer.erase();
    inner.erase();
  }
}

void gradc::cutSums(ModuleOp module, const exec::Level &level, SymbolTable &symbols) {
  exec::KernelLaunches launches = exec::launchesByKernel(module);
  // This many sums take as long in sequence as another launch.
  size_t maxSerialSums = size_t(level.launch / level.gpu->sumSeconds);
  for (auto kernel : llvm::to_vector(module.getOps<exec::KernelOp>())) {
    SmallVector<Value> sums = findSums(kernel);
    if (sums.size() <= maxSerialSums)
      continue;
    for (exec::KernelOp piece :
         cutKernel(kernel, sums, launches[kernel.getSymNameAttr()], symbols)) {
      joinSums(piece);
      scheduleBlocks(piece, level);
    }
  }
}
