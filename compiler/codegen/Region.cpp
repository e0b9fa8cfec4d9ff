// Decomposes ops, merges common subexpressions of the decompositions, then asks each op for its
// loops.
#include "compiler/codegen/Region.h"

#include "dialects/grad/Build.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace gradc;

/// Whether the op is not decomposed because its kernel computes it as a whole.
static bool isWhole(exec::KernelOp kernel, Operation &op) {
  if (kernel.getPatchAttr())
    return true;
  exec::ScheduleAttr schedule = kernel.getScheduleAttr();
  return schedule && schedule.isOfOneOp() && op.hasTrait<grad::OwnKernel>();
}

static void decompose(exec::KernelOp kernel) {
  auto isComposite = [&](Operation &op) {
    return isa<grad::DecomposeOpInterface>(op) && !isWhole(kernel, op);
  };
  Block &block = kernel.getBlock();
  for (auto at = llvm::find_if(block, isComposite); at != block.end();
       at = llvm::find_if(block, isComposite)) {
    OpBuilder builder(&*at);
    at->replaceAllUsesWith(cast<grad::DecomposeOpInterface>(*at).decompose(builder));
    at->erase();
  }
}

FailureOr<OwningOpRef<exec::KernelOp>> gradc::lowerRegion(exec::KernelOp kernel) {
  OwningOpRef<exec::KernelOp> whole = kernel.clone();
  decompose(*whole);
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance(*whole);
  eliminateCommonSubExpressions(rewriter, dominance, *whole);

  OwningOpRef<exec::KernelOp> lowered = cast<exec::KernelOp>(kernel->cloneWithoutRegions());
  Block &block = lowered->getBody().emplaceBlock();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  IRMapping map;
  for (BlockArgument argument : whole->getBlock().getArguments())
    map.map(argument, block.addArgument(grad::signlessType(argument.getType()), argument.getLoc()));
  for (Operation &op : whole->getBlock()) {
    auto loops = dyn_cast<grad::LoopsOpInterface>(op);
    if (!loops && isa<grad::GradDialect>(op.getDialect()) && !isWhole(kernel, op))
      return op.emitOpError("has no loops, so a kernel cannot hold it");
    if (!loops) {
      Operation *copy = builder.clone(op, map);
      for (Value result : copy->getResults())
        result.setType(grad::signlessType(result.getType()));
      continue;
    }
    auto operands = llvm::map_to_vector(op.getOperands(), [&](Value v) { return map.lookup(v); });
    map.map(op.getResults(), loops.lowerToLoops(builder, operands));
  }
  return lowered;
}
