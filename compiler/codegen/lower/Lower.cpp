// The list of conversions, and expansions of operations without a target instruction.
#include "compiler/codegen/lower/Lower.h"

#include "compiler/codegen/lower/Bf16.h"
#include "compiler/codegen/lower/Codes.h"
#include "compiler/codegen/lower/Quotient.h"
#include "compiler/codegen/lower/VectorMath.h"
#include "dialects/Pch.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace {

/// Expands math functions to polynomials, and bf16 conversions to integer arithmetic, for which
/// LLVM would otherwise call a library; and divisions before a rounding to products.
struct ExpandMath : PassWrapper<ExpandMath, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMath)

  explicit ExpandMath(gradc::lower::Instructions has) : has(has) {}

  StringRef getArgument() const override { return "gradc-expand-math"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    gradc::lower::populateVectorMathPatterns(patterns, has.scale);
    gradc::lower::populateQuotientPatterns(patterns);
    gradc::lower::populateCodePatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
    gradc::lower::populateWidenBf16Patterns(patterns);
    if (has.roundBf16)
      gradc::lower::populateRoundBf16Patterns(patterns);
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
    gradc::lower::storeBf16AsBits(getOperation());
  }

  gradc::lower::Instructions has;
};

} // namespace

void gradc::lower::buildLowering(OpPassManager &pm, Instructions instructions) {
  pm.addPass(std::make_unique<ExpandMath>(instructions));
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}
