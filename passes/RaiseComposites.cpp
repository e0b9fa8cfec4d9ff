// Raises what exporters decompose to the composites of the dialect. The forms are in `raise/`.
#include "passes/Passes.h"
#include "passes/entry/Functions.h"
#include "passes/raise/Match.h"

using namespace mlir;

namespace gradc {
#define GEN_PASS_DEF_RAISECOMPOSITES
#include "passes/Passes.h.inc"

namespace {

/// 1. Normalizations within each row of the batch, outside loops.
/// 2. Activations and rotary positions, anywhere.
/// 3. The driver removes ops without readers.
struct RaiseComposites : impl::RaiseCompositesBase<RaiseComposites> {
  void runOnOperation() override {
    for (auto function : functionsOf(getOperation())) {
      if (function.getOps<grad::BroadcastOp>().empty())
        continue;
      ExtentAnalysis extents = analyzeFunction(function);
      raiseNormalizations(function, extents);
    }
    RewritePatternSet patterns(&getContext());
    populateRaiseActivations(patterns);
    populateRaiseRotary(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace gradc
