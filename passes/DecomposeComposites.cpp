// Replaces composite ops by what they say they are made of.
#include "passes/Passes.h"

#include "dialects/grad/Grad.h"

namespace gradc {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;

namespace {

struct DecomposeComposites : gradc::impl::DecomposeCompositesBase<DecomposeComposites> {
  void runOnOperation() override {
    SmallVector<grad::DecomposeOpInterface> composites;
    auto collect = [&] {
      composites.clear();
      getOperation().walk([&](grad::DecomposeOpInterface op) { composites.push_back(op); });
      return !composites.empty();
    };
    // A composite may be made of others, so until none is left.
    while (collect())
      for (grad::DecomposeOpInterface composite : composites) {
        OpBuilder b(composite);
        composite->replaceAllUsesWith(composite.decompose(b));
        composite->erase();
      }
  }
};

} // namespace
