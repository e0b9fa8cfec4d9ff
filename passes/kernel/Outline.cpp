// Clones the ops into a kernel's region and measures their work.
#include "passes/kernel/Outline.h"

#include "dialects/grad/Grad.h"
#include "passes/kernel/Clusters.h"
#include "passes/kernel/InPlace.h"

#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

/// "matmul_add_maximum": what a kernel computes, from its ops, moves and constants left out.
static std::string describe(ArrayRef<Operation *> ops) {
  SmallVector<StringRef> names;
  for (Operation *op : ops) {
    StringRef name = op->getName().stripDialect();
    if (!op->hasTrait<OpTrait::ConstantLike>() && loopKind(op) != LoopKind::movement &&
        !llvm::is_contained(names, name))
      names.push_back(name);
  }
  if (names.size() > 4)
    names.erase(names.begin() + 2, names.end() - 2);
  return names.empty() ? "move" : llvm::join(names, "_");
}

/// The operands of a kernel that writes rows of a table; null: it does not, or not only.
static exec::PatchAttr patchOf(exec::KernelOp kernel) {
  Block &body = kernel.getBlock();
  if (!writesRows(&body.front()))
    return nullptr;
  auto rows = cast<RowsOpInterface>(body.front());
  auto operand = [](Value v) { return int64_t(cast<BlockArgument>(v).getArgNumber()); };
  return exec::PatchAttr::get(kernel.getContext(), operand(rows->getOperand(0)),
                              operand(rows.getRows()), operand(rows.getNewRows()));
}

exec::KernelOp gradc::outlineKernel(ArrayRef<Operation *> ops, ArrayRef<Value> operands,
                                    ArrayRef<Value> results) {
  auto kernel =
      exec::createKernel(ops.front()->getContext(), describe(ops), TypeRange(ValueRange(operands)));
  Block *body = &kernel.getBlock();
  IRMapping mapping;
  mapping.map(operands, body->getArguments());
  OpBuilder builder = OpBuilder::atBlockEnd(body);
  int64_t flops = 0, bytes = 0;
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value v : results) {
    yielded.push_back(mapping.lookup(v));
    bytes += bytesOf(v);
  }
  for (Value v : operands)
    bytes += bytesOf(v);
  exec::YieldOp::create(builder, kernel.getLoc(), yielded);
  // Ops that are cloned for each of their users may meet in one kernel, where one copy is enough.
  IRRewriter rewriter(builder);
  DominanceInfo dominance(kernel);
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  for (Operation &op : *body)
    if (auto cost = dyn_cast<CostOpInterface>(op))
      flops += cost.getFlops();
  if (exec::PatchAttr patch = patchOf(kernel)) {
    kernel.setPatchAttr(patch);
    bytes = 2 * bytesOf(kernel.getRoot());
  }
  kernel.setInplace(findInplace(kernel));
  kernel.setFlops(flops);
  kernel.setBytes(bytes);
  return kernel;
}

void gradc::collectNodes(Location location, SmallVectorImpl<Attribute> &nodes) {
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location l : fused.getLocations())
      collectNodes(l, nodes);
  } else if (auto name = dyn_cast<NameLoc>(location)) {
    if (!llvm::is_contained(nodes, name.getName()))
      nodes.push_back(name.getName());
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collectNodes(call.getCallee(), nodes);
  }
}
