// Lets ops read from 16 bits what is stored in 16 bits anyway.
#include "passes/Passes.h"

#include "dialects/grad/Grad.h"
#include "passes/graph/StorageCasts.h"

namespace gradc {
#define GEN_PASS_DEF_READSTORED
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

namespace {

struct ReadStored : gradc::impl::ReadStoredBase<ReadStored> {
  void runOnOperation() override {
    getOperation().walk([](CastOp up) {
      CastOp down = roundingOf(up);
      if (!down)
        return;
      down.getOperand().replaceUsesWithIf(up, [&](OpOperand &use) {
        Operation *reader = use.getOwner();
        return reader != down && reader->getBlock() == up->getBlock() &&
               up->isBeforeInBlock(reader);
      });
    });
  }
};

} // namespace
