// Exporters write QuantizeLinear and DequantizeLinear around every operator. Those that only select
// or move elements do so with codes. Names the ops of which the two consist.
#include "passes/raise/Codes.h"

#include "dialects/grad/control/Control.h"
#include "dialects/grad/math/Window.h"
#include "passes/raise/Dequantized.h"
#include "passes/raise/Match.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// Of bytes with and without sign: zero points, with which differences stay small.
constexpr int64_t leastCode = -128, greatestCode = 255;

bool isOfCodes(Value value) { return getElementTypeOrSelf(value).isInteger(8); }

/// A scale with which different codes represent different floats, in the order of the codes: no
/// product of a code overflows or becomes denormal.
bool isOrdinary(double scale) { return scale > 0x1p-100 && scale < 0x1p100; }

/// (code - zero point) * scale, perhaps reshaped and transposed. One scale and zero point for all.
struct Represented {
  Value codes;
  double scale;
  int64_t zero = 0;
  SmallVector<Operation *> moves; ///< the last one comes first

  /// The floats of other codes like these.
  Value ofCodes(Expr other) const {
    Expr wide = other.cast(other.getBuilder().getI32Type());
    if (zero != 0)
      wide = wide - double(zero);
    return wide.cast(other.getBuilder().getF32Type()) * scale;
  }
};

std::optional<Represented> findRepresented(Value value) {
  Represented found;
  while (isa_and_nonnull<TransposeOp, ReshapeOp>(value.getDefiningOp())) {
    found.moves.push_back(value.getDefiningOp());
    value = found.moves.back()->getOperand(0);
  }
  auto product = value.getDefiningOp<MulOp>();
  if (!getElementTypeOrSelf(value).isF32())
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    auto number = product ? product->getOperand(i).getDefiningOp<CastOp>() : CastOp();
    std::optional<double> scale = number ? numberOf(product->getOperand(1 - i)) : std::nullopt;
    if (!scale || !isOrdinary(*scale))
      continue;
    found.scale = *scale;
    found.zero = 0;
    found.codes = number.getOperand();
    if (auto difference = found.codes.getDefiningOp<SubOp>()) {
      DenseElementsAttr zero = splatOf(difference.getRhs());
      if (!zero || !zero.getElementType().isSignlessInteger(32))
        continue;
      found.zero = zero.getSplatValue<APInt>().getSExtValue();
      found.codes = difference.getLhs();
      if (found.zero < leastCode || found.zero > greatestCode)
        continue;
    }
    if (auto widened = found.codes.getDefiningOp<CastOp>();
        widened && getElementTypeOrSelf(widened).isSignlessInteger(32))
      found.codes = widened.getOperand();
    if (isOfCodes(found.codes))
      return found;
  }
  return std::nullopt;
}

/// saturate(round(x / scale) + zero point).
struct Quantized {
  Value x;
  double scale;
  std::optional<double> zero;
  bool isOnlyReader; ///< whether nothing else reads x or what is computed from it
};

std::optional<Quantized> findQuantized(CastOp codes) {
  if (!isOfCodes(codes) || !getElementTypeOrSelf(codes.getOperand()).isF32())
    return std::nullopt;
  Quantized found;
  Value sum = codes.getOperand();
  found.isOnlyReader = sum.hasOneUse();
  if (auto add = sum.getDefiningOp<AddOp>()) {
    found.zero = numberOf(add.getRhs());
    if (!found.zero)
      return std::nullopt;
    sum = add.getLhs();
  }
  auto rounded = sum.getDefiningOp<RoundOp>();
  auto quotient = rounded ? rounded.getOperand().getDefiningOp<DivOp>() : DivOp();
  std::optional<double> scale = quotient ? numberOf(quotient.getRhs()) : std::nullopt;
  if (!scale)
    return std::nullopt;
  found.x = quotient.getLhs();
  found.scale = *scale;
  found.isOnlyReader &= rounded->hasOneUse() && quotient->hasOneUse() && found.x.hasOneUse();
  return found;
}

/// The codes of floats that codes represent, with the same scale and zero point, are these codes:
/// (n * scale) / scale has an error below 2^-14 for such an n, so it is rounded to n.
struct SkipFloats : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    std::optional<Quantized> to = findQuantized(op);
    std::optional<Represented> from = to ? findRepresented(to->x) : std::nullopt;
    if (!from || from->scale != to->scale || double(from->zero) != to->zero.value_or(0) ||
        getElementTypeOrSelf(from->codes) != getElementTypeOrSelf(op))
      return failure();
    rewriter.replaceOp(op, moved(Expr(rewriter, op.getLoc(), from->codes), from->moves));
    return success();
  }
};

/// Floats are in the order of their codes, so the largest one has the largest code. Bytes are four
/// times as many in a register, and compared as they are: there is no NaN.
struct MaximaOfCodes : OpRewritePattern<WindowMaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(WindowMaxOp op, PatternRewriter &rewriter) const override {
    std::optional<Represented> from = findRepresented(op.getOperand());
    // A window without a tap on the operand has the lowest float, which no code represents.
    if (!from || !op.getIndex().use_empty() ||
        !allReach(op.getWindow(), op.getOperand().getType().getShape()))
      return failure();
    Expr codes(rewriter, op.getLoc(), moved(Expr(rewriter, op.getLoc(), from->codes), from->moves));
    auto maxima = WindowMaxOp::create(rewriter, op.getLoc(), codes, op.getWindow());
    rewriter.replaceAllUsesWith(op.getResult(), from->ofCodes(codes.with(maxima.getResult())));
    rewriter.eraseOp(op);
    return success();
  }
};

/// The codes of a concatenation are those of its parts, which are computed where the parts are.
struct ConcatenateCodes : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    std::optional<Quantized> to = findQuantized(op);
    auto whole = to ? to->x.getDefiningOp<ConcatenateOp>() : ConcatenateOp();
    if (!whole || !to->isOnlyReader)
      return failure();
    SmallVector<Value> parts;
    for (Value part : whole.getOperands()) {
      Expr x(rewriter, op.getLoc(), part);
      Expr rounded = (x / to->scale).apply<RoundOp>();
      Expr sum = to->zero ? rounded + *to->zero : rounded;
      parts.push_back(sum.cast(getElementTypeOrSelf(op)));
    }
    rewriter.replaceOpWithNewOp<ConcatenateOp>(op, parts, whole.getDim());
    return success();
  }
};

/// gather(f(codes, splat)) = f(gather(codes), splat) for a table of 8-bit codes: only what is
/// looked up is dequantized.
struct GatherCodes : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    Value table = op.getData();
    if (op.getType().getNumElements() >= op.getData().getType().getNumElements() ||
        !isComputedFromCodes(table))
      return failure();
    IRMapping mapping;
    for (Value operand : table.getDefiningOp()->getOperands()) {
      auto type = op.getType().clone(getElementTypeOrSelf(operand));
      if (DenseElementsAttr number = splatOf(operand))
        mapping.map(operand, ConstantOp::create(rewriter, operand.getLoc(), type,
                                                cast<ElementsAttr>(number.resizeSplat(type))));
      else if (Value number = repeatedNumber(operand))
        mapping.map(operand,
                    BroadcastOp::create(rewriter, op.getLoc(), type, number, ArrayRef<int64_t>{}));
      else
        mapping.map(operand, GatherOp::create(rewriter, op.getLoc(), operand, op.getIndices(),
                                              op.getDims(), op.getIndexDims()));
    }
    Operation *small = rewriter.clone(*table.getDefiningOp(), mapping);
    small->getResult(0).setType(op.getType());
    rewriter.replaceOp(op, small);
    return success();
  }

private:
  static Value repeatedNumber(Value value) {
    auto broadcast = value.getDefiningOp<BroadcastOp>();
    return broadcast && broadcast.getDims().empty() ? broadcast.getOperand() : Value();
  }

  /// Whether pointwise ops compute the value from codes and numbers alone.
  static bool isComputedFromCodes(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !op->hasTrait<grad::Pointwise>() || op->getNumResults() != 1)
      return false;
    Value source;
    for (Value operand : op->getOperands()) {
      if (splatOf(operand) || repeatedNumber(operand))
        continue;
      if (source)
        return false;
      source = operand;
    }
    return source && (isOfCodes(source) || isComputedFromCodes(source));
  }
};

} // namespace

void gradc::populateMoveCodes(RewritePatternSet &patterns) {
  patterns.add<SkipFloats, MaximaOfCodes, ConcatenateCodes, GatherCodes>(patterns.getContext());
}
