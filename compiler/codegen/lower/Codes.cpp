// A result that is quantized and read as a float in the same kernel, as by a sum, is rounded and
// clamped, converted to an integer, and back. The conversions change nothing.
#include "compiler/codegen/lower/Codes.h"

#include "compiler/codegen/lower/Floats.h"

using namespace mlir;
using namespace gradc::lower;

namespace {

/// A quantization is a chain of at most five ops: a rounding, a zero point, and a select for each
/// limit and for NaN. The search follows a few more; since an op may read another one twice, each
/// further op could double its work.
constexpr unsigned mostInRow = 8;

/// Whether the value is an integer, infinite or NaN. No: it may be, behind `most` ops in a row.
bool isIntegral(Value value, unsigned most = mostInRow) {
  if (std::optional<APFloat> number = constantOf(value))
    return number->isInteger();
  if (most == 0)
    return false;
  auto isOperandIntegral = [&](Value operand) { return isIntegral(operand, most - 1); };
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<math::RoundEvenOp>(op))
    return true;
  if (isa_and_nonnull<arith::AddFOp>(op))
    return llvm::all_of(op->getOperands(), isOperandIntegral);
  auto select = dyn_cast_or_null<arith::SelectOp>(op);
  return select && isOperandIntegral(select.getTrueValue()) &&
         isOperandIntegral(select.getFalseValue());
}

/// Whether the value is not -0.0: a constant, or the larger one of it and a value. No: it may not
/// be, behind `most` ops in a row.
bool isNoNegativeZero(Value value, unsigned most = mostInRow) {
  if (std::optional<APFloat> number = constantOf(value))
    return !number->isNegZero();
  auto select = value.getDefiningOp<arith::SelectOp>();
  if (!select || most == 0 || !isNoNegativeZero(select.getFalseValue(), most - 1))
    return false;
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  bool isLarger = compare && compare.getPredicate() == arith::CmpFPredicate::OGT &&
                  compare.getLhs() == select.getTrueValue() &&
                  compare.getRhs() == select.getFalseValue() && constantOf(compare.getRhs()) &&
                  !constantOf(compare.getRhs())->isNegative();
  return isLarger || isNoNegativeZero(select.getTrueValue(), most - 1);
}

/// The float that was converted to the unsigned integer, perhaps a wider one. Without a value if
/// the conversion changes it; what is out of range has no result.
Value floatBehind(Value integer) {
  if (auto wide = integer.getDefiningOp<arith::ExtUIOp>())
    integer = wide.getIn();
  auto converted = integer.getDefiningOp<arith::FPToUIOp>();
  if (!converted || !getElementTypeOrSelf(integer).isInteger(8) || !isIntegral(converted.getIn()) ||
      !isNoNegativeZero(converted.getIn()))
    return {};
  return converted.getIn();
}

/// float(integer - zero point) is a difference of floats: both have few digits.
template <typename Conversion> struct SkipIntegers : OpRewritePattern<Conversion> {
  using OpRewritePattern<Conversion>::OpRewritePattern;
  LogicalResult matchAndRewrite(Conversion op, PatternRewriter &rewriter) const override {
    constexpr bool isSigned = std::is_same_v<Conversion, arith::SIToFPOp>;
    auto difference = op.getIn().template getDefiningOp<arith::SubIOp>();
    Value from = floatBehind(difference ? difference.getLhs() : op.getIn());
    if (!from || from.getType() != op.getType() || !getElementTypeOrSelf(from).isF32())
      return failure();
    // A byte above 127 is not what a signed conversion takes it for.
    if (!difference && !(isSigned && getElementTypeOrSelf(op.getIn()).isInteger(8))) {
      rewriter.replaceOp(op, from);
      return success();
    }
    APInt zero;
    if (!difference || !isSigned || !getElementTypeOrSelf(difference).isInteger(32) ||
        !matchPattern(difference.getRhs(), m_ConstantInt(&zero)) ||
        zero.getSignificantBits() > mostBits)
      return failure();
    Float x(rewriter, op.getLoc(), from);
    rewriter.replaceOp(op, (x - double(zero.getSExtValue())).get());
    return success();
  }

private:
  /// Of zero points whose difference from a byte is a float.
  static constexpr unsigned mostBits = 16;
};

} // namespace

void gradc::lower::populateCodePatterns(RewritePatternSet &patterns) {
  patterns.add<SkipIntegers<arith::SIToFPOp>, SkipIntegers<arith::UIToFPOp>>(patterns.getContext());
}
