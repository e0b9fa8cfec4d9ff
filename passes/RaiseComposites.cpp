// Raises what exporters decompose to the composites of the dialect. The forms are in `raise/`.
#include "passes/Passes.h"
#include "passes/raise/Match.h"

namespace gradc {
#define GEN_PASS_DEF_RAISECOMPOSITES
#include "passes/Passes.h.inc"

namespace {

/// 1. Forms are matched around the op that is rarest in them: an error function, a root, a
/// concatenation.
/// 2. What lost its last reader is removed by the driver.
struct RaiseComposites : impl::RaiseCompositesBase<RaiseComposites> {
  void runOnOperation() override {
    mlir::RewritePatternSet patterns(&getContext());
    populateRaiseActivations(patterns);
    populateRaiseNormalization(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace gradc
