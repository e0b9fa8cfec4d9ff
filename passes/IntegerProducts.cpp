// Multiplies quantized tensors as bytes, with sums of 32 bits, and floats by quantized weights.
#include "passes/Passes.h"

#include "dialects/grad/control/Control.h"
#include "passes/entry/Functions.h"
#include "passes/raise/BlockProducts.h"
#include "passes/raise/QuantizedProduct.h"

namespace gradc {
#define GEN_PASS_DEF_INTEGERPRODUCTS
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

struct IntegerProducts : gradc::impl::IntegerProductsBase<IntegerProducts> {
  using IntegerProductsBase::IntegerProductsBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    ComputedStates computed(symbols);
    for (auto function : functionsOf(getOperation())) {
      bool asksForGradients = false;
      function.walk([&](GradientOp) { asksForGradients = true; });
      if (asksForGradients) // integers have none
        continue;
      SmallVector<ContractionOpInterface> products;
      function.walk([&](ContractionOpInterface op) { products.push_back(op); });
      for (ContractionOpInterface op : products) {
        OpBuilder builder(op);
        auto rhs = findDequantized(builder, op->getOperand(1));
        if (!rhs) {
          if (auto blocks = findDequantizedBlocks(builder, op->getOperand(1)))
            multiplyByBlocks(builder, computed, op, *blocks, forGpus);
          continue;
        }
        auto lhs = findDequantized(builder, op->getOperand(0));
        multiplyQuantized(builder, computed, op, lhs, *rhs);
      }
      computed.multiplyVectors(function);
    }
    computed.eraseUnread();
  }
};

} // namespace
