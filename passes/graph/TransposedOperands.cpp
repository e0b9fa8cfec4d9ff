// Makes contractions read their operands in another order. Names the transpose, because it removes
// that op.
#include "passes/graph/TransposedOperands.h"

using namespace mlir;
using namespace mlir::grad;

namespace {

struct ReadTransposed : OpInterfaceRewritePattern<ContractionOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ContractionOpInterface op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands()) {
      auto transpose = operand.get().getDefiningOp<TransposeOp>();
      if (!transpose)
        continue;
      rewriter.startOpModification(op);
      if (op.readTransposed(operand.getOperandNumber(), transpose.getPermutation())) {
        operand.set(transpose.getOperand());
        rewriter.finalizeOpModification(op);
        return success();
      }
      rewriter.cancelOpModification(op);
    }
    return failure();
  }
};

} // namespace

void gradc::populateReadTransposed(RewritePatternSet &patterns) {
  patterns.add<ReadTransposed>(patterns.getContext());
}
