// Follows rows through loops, as for extents: an op with exactly one loop over rows, and no sum
// over them, does not couple rows.
#include "passes/entry/Coupling.h"

#include "dialects/grad/math/Count.h"
#include "passes/entry/Extents.h"

using namespace mlir;
using namespace mlir::grad;

/// Visits an op that is no computation; false for all others.
static bool visitState(gradc::ExtentAnalysis &analysis, Operation &op) {
  auto read = dyn_cast<ReadOp>(op);
  if (read)
    analysis.set(read, gradc::Extents(cast<RankedTensorType>(read.getType()).getRank(),
                                      gradc::extent::whole));
  return read || isa<WriteOp>(op);
}

gradc::RowDependence gradc::findDependence(Block &block, int64_t batch,
                                           llvm::function_ref<bool(BlockArgument)> isBatched,
                                           ValueRange checks) {
  if (llvm::none_of(block.getArguments(), isBatched))
    return {};
  ExtentAnalysis analysis(batch);
  analysis.followInnerRows();
  for (BlockArgument argument : block.getArguments()) {
    Extents extents(cast<RankedTensorType>(argument.getType()).getRank(), extent::whole);
    if (isBatched(argument))
      extents[0] = 1;
    analysis.set(argument, extents);
  }
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      for (Value result : op.getOperands())
        if (analysis.holdsRowsInside(result))
          return {result.getDefiningOp(), false};
    bool isCheck = op.getNumResults() == 1 && llvm::is_contained(checks, op.getResult(0));
    if (isCheck || op.hasTrait<OpTrait::IsTerminator>() || visitState(analysis, op))
      continue;
    // A count of rows depends on all rows.
    if (auto count = dyn_cast<CountOp>(op)) {
      if (failed(analysis.visitSizes(count)))
        return {&op, false};
      const Extents &extents = *analysis.find(count.getOperand());
      bool isReadBy = count->hasAttr(readByName), isReadOnly = isReadBy && count->use_empty();
      // Sizes of dims depend on the rows as all dims of rows do.
      bool isSize = count->hasAttr(sizedByName) || (count->hasAttr(sizesName) && !isReadBy);
      if (isSize && count->use_empty()) {
        analysis.set(count, {});
        continue;
      }
      auto mayCountRows = [&](int64_t d) {
        return extents[d] > 0 || (extent::isFree(extents[d]) && !isReadOnly);
      };
      if (analysis.isBatched(count.getOperand()) && llvm::any_of(count.getDims(), mayCountRows))
        return {&op, false};
      analysis.set(count, {});
    } else if (failed(analysis.visit(&op)) || analysis.couplesRows()) {
      return {&op, false};
    }
  }
  return {nullptr, analysis.numbersRows()};
}
