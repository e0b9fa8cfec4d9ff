// Widens arithmetic on bf16 and retypes all other values.
#include "compiler/codegen/lower/Bf16.h"

#include "dialects/Pch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

static bool isBf16(Type type) { return getElementTypeOrSelf(type).isBF16(); }

static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

namespace {
/// Extends the bf16 operands of an op, and truncates its result.
struct WidenArithmetic : RewritePattern {
  explicit WidenArithmetic(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    bool computes =
        isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
        !isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp, arith::ExtFOp, arith::TruncFOp>(
            op);
    if (!computes || (llvm::none_of(op->getOperandTypes(), isBf16) &&
                      llvm::none_of(op->getResultTypes(), isBf16)))
      return failure();
    Location at = op->getLoc();
    auto wide = [&](Type type) { return withElement(type, rewriter.getF32Type()); };
    IRMapping map;
    for (Value operand : op->getOperands())
      if (isBf16(operand.getType()))
        map.map(operand,
                arith::ExtFOp::create(rewriter, at, wide(operand.getType()), operand).getResult());
    Operation *widened = rewriter.clone(*op, map);
    SmallVector<Value> results;
    for (OpResult result : widened->getResults()) {
      Type narrow = result.getType();
      if (isBf16(narrow))
        rewriter.modifyOpInPlace(widened, [&] { result.setType(wide(narrow)); });
      results.push_back(isBf16(narrow)
                            ? arith::TruncFOp::create(rewriter, at, narrow, result).getResult()
                            : Value(result));
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

struct RoundVector : OpRewritePattern<arith::TruncFOp> {
  explicit RoundVector(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {} // precedes the expansion into integers

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    auto from = dyn_cast<VectorType>(op.getIn().getType());
    if (!type || !from || !isBf16(type) || !from.getElementType().isF32() ||
        type.getShape() != ArrayRef<int64_t>{16})
      return failure();
    auto name = rewriter.getStringAttr("llvm.x86.avx512bf16.cvtneps2bf16.512");
    auto call =
        LLVM::CallIntrinsicOp::create(rewriter, op.getLoc(), type, name, ValueRange{op.getIn()});
    Value bits = LLVM::BitcastOp::create(
        rewriter, op.getLoc(), withElement(type, rewriter.getI16Type()), call.getResults());
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, type, bits);
    return success();
  }
};
} // namespace

void gradc::lower::populateRoundBf16Patterns(RewritePatternSet &patterns) {
  patterns.add<RoundVector>(patterns.getContext());
}

void gradc::lower::populateWidenBf16Patterns(RewritePatternSet &patterns) {
  patterns.add<WidenArithmetic>(patterns.getContext());
}

void gradc::lower::storeBf16AsBits(ModuleOp module) {
  auto bits = IntegerType::get(module.getContext(), 16);
  auto retype = [&](Value value) {
    if (isBf16(value.getType()))
      value.setType(withElement(value.getType(), bits));
  };
  module.walk([&](Operation *op) {
    // Bitcasts and intrinsics keep bf16: they get it from bits and return it to bits.
    if (isa<LLVM::BitcastOp, LLVM::CallIntrinsicOp>(op))
      return;
    llvm::for_each(op->getResults(), retype);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), retype);
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (!constant)
      return;
    if (auto number = dyn_cast<FloatAttr>(constant.getValue()); number && isBf16(number.getType()))
      constant.setValueAttr(IntegerAttr::get(bits, number.getValue().bitcastToAPInt()));
    else if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
             dense && isBf16(dense.getElementType()))
      constant.setValueAttr(cast<TypedAttr>(Attribute(dense.bitcast(bits))));
  });
  module.walk([](arith::BitcastOp op) {
    if (op.getIn().getType() != op.getType())
      return;
    op.replaceAllUsesWith(op.getIn());
    op.erase();
  });
}
