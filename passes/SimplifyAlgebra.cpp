// Algebraic identities that hold for every value, including NaN, infinities and signed zeros.
#include "passes/Passes.h"
#include "passes/graph/TransposedOperands.h"
#include "passes/raise/Codes.h"

#include "dialects/grad/Build.h"

namespace gradc {
#define GEN_PASS_DEF_SIMPLIFYALGEBRA
#include "passes/Passes.h.inc"
} // namespace gradc

using namespace mlir;
using namespace mlir::grad;

/// The splat that `value` is, as `Wanted` (an APFloat or APInt) of its element type.
template <typename Wanted> static std::optional<Wanted> splatOf(Value value) {
  DenseElementsAttr elements;
  constexpr bool floats = std::is_same_v<Wanted, APFloat>;
  auto type = cast<RankedTensorType>(value.getType());
  if (isa<FloatType>(type.getElementType()) != floats ||
      !matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<Wanted>();
}

static bool isSplatConstant(Value value) {
  DenseElementsAttr elements;
  return matchPattern(value, m_Constant(&elements)) && elements.isSplat();
}

/// The same splat constant as `splat`, of another shape.
static Value resizedSplat(OpBuilder &b, Value splat, ArrayRef<int64_t> shape) {
  DenseElementsAttr elements;
  matchPattern(splat, m_Constant(&elements));
  auto type = cast<RankedTensorType>(splat.getType()).clone(shape);
  return ConstantOp::create(b, splat.getLoc(), type,
                            cast<ElementsAttr>(elements.resizeSplat(type)));
}

static bool isFloatZero(Value value, bool negative) {
  std::optional<APFloat> number = splatOf<APFloat>(value);
  return number && number->isZero() && number->isNegative() == negative;
}

static bool isIntZero(Value value) {
  std::optional<APInt> number = splatOf<APInt>(value);
  return number && number->isZero();
}

static bool isOne(Value value) {
  if (std::optional<APFloat> number = splatOf<APFloat>(value))
    return number->isExactlyValue(1.0);
  std::optional<APInt> number = splatOf<APInt>(value);
  return number && number->isOne();
}

/// Whether every run of the entry around the op has as many rows as its batch.
static bool isExact(Operation *op) {
  auto function = op->getParentOfType<func::FuncOp>();
  return function && function->hasAttr("grad.exact");
}

namespace {

/// x + -0.0 = x (integers: x + 0); x + -y = x - y. Adding +0.0 would turn -0.0 into +0.0.
struct SimplifyAdd : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op, PatternRewriter &rewriter) const override {
    for (auto [x, y] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      if (isFloatZero(y, /*negative=*/true) || isIntZero(y)) {
        rewriter.replaceOp(op, x);
        return success();
      }
      if (auto negated = y.getDefiningOp<NegOp>()) {
        rewriter.replaceOpWithNewOp<SubOp>(op, x, negated.getOperand());
        return success();
      }
    }
    return failure();
  }
};

/// x - 0.0 = x (integers: x - 0); x - -y = x + y. Subtracting -0.0 would turn -0.0 into +0.0.
struct SimplifySub : OpRewritePattern<SubOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SubOp op, PatternRewriter &rewriter) const override {
    if (isFloatZero(op.getRhs(), /*negative=*/false) || isIntZero(op.getRhs())) {
      rewriter.replaceOp(op, op.getLhs());
      return success();
    }
    auto negated = op.getRhs().getDefiningOp<NegOp>();
    if (!negated)
      return failure();
    rewriter.replaceOpWithNewOp<AddOp>(op, op.getLhs(), negated.getOperand());
    return success();
  }
};

/// x * 1 = x; integers: x * 0 = 0. With floats NaN * 0 and inf * 0 are NaN.
struct SimplifyMul : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op, PatternRewriter &rewriter) const override {
    for (auto [x, y] : {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())})
      if (isOne(y) || isIntZero(y)) {
        rewriter.replaceOp(op, isOne(y) ? x : y);
        return success();
      }
    return failure();
  }
};

/// x / 1 = x.
struct SimplifyDiv : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op, PatternRewriter &rewriter) const override {
    if (!isOne(op.getRhs()))
      return failure();
    rewriter.replaceOp(op, op.getLhs());
    return success();
  }
};

/// int(x + 0.0) = int(x), as -0.0 and 0.0 are the same integer.
struct SimplifyCast : OpRewritePattern<CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CastOp op, PatternRewriter &rewriter) const override {
    auto sum = op.getOperand().getDefiningOp<AddOp>();
    if (!sum || !isa<IntegerType>(getElementTypeOrSelf(op)) ||
        !isFloatZero(sum.getRhs(), /*negative=*/false))
      return failure();
    rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), sum.getLhs(), op.getStorage());
    return success();
  }
};

/// f(f(x)) = x, for f = neg and not.
template <typename Op> struct SimplifyInvolution : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().template getDefiningOp<Op>();
    if (!inner)
      return failure();
    rewriter.replaceOp(op, inner.getOperand());
    return success();
  }
};

/// A select with a splat condition, or with equal sides, is one of its sides.
struct SimplifySelect : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    std::optional<APInt> condition = splatOf<APInt>(op.getCondition());
    if (!condition && op.getOnTrue() != op.getOnFalse())
      return failure();
    rewriter.replaceOp(op, condition && condition->isZero() ? op.getOnFalse() : op.getOnTrue());
    return success();
  }
};

/// select(x > c, scatter(y, i), 0) = scatter(select(m > c, y, 0), i), where m and i are the maxima
/// of x and their taps: the gradient of a pool after a ReLU no longer reads what the pool read.
struct MaskMaxima : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    auto compare = op.getCondition().getDefiningOp<CompareOp>();
    auto scatter = op.getOnTrue().getDefiningOp<WindowScatterOp>();
    if (!compare || !scatter || !scatter->hasOneUse() || !isSplatConstant(compare.getRhs()) ||
        !(isFloatZero(op.getOnFalse(), /*negative=*/false) || isIntZero(op.getOnFalse())))
      return failure();
    auto maxima = scatter.getIndex().getDefiningOp<WindowMaxOp>();
    if (!maxima || scatter.getIndex() != maxima.getIndex() ||
        maxima.getOperand() != compare.getLhs() || maxima.getWindow() != scatter.getWindow())
      return failure();
    auto small = [&](Value splat) {
      return resizedSplat(rewriter, splat, maxima.getResult().getType().getShape());
    };
    Value mask = CompareOp::create(rewriter, compare.getLoc(), compare.getPredicate(),
                                   maxima.getResult(), small(compare.getRhs()));
    Value masked =
        SelectOp::create(rewriter, op.getLoc(), mask, scatter.getOperand(), small(op.getOnFalse()));
    rewriter.replaceOpWithNewOp<WindowScatterOp>(op, masked, scatter.getIndex(), scatter.getSize(),
                                                 scatter.getWindow());
    return success();
  }
};

/// A reduction over no dims is its operand.
template <typename Op> struct SimplifyEmptyReduction : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getDims().empty())
      return failure();
    rewriter.replaceOp(op, op.getOperand());
    return success();
  }
};

/// A pad by nothing is its operand: the gradient of a slice that takes all, backwards.
struct SimplifyEmptyPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    if (op.getType() != op.getOperand().getType())
      return failure();
    rewriter.replaceOp(op, op.getOperand());
    return success();
  }
};

/// A pad that puts n elements n + 1 apart, read as a square, puts them on its diagonal: the
/// gradient of a diagonal. A select does, in the kernel that reads the square.
struct SelectDiagonal : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto pad = op.getOperand().getDefiningOp<PadOp>();
    if (!pad || pad.getType().getRank() == 0)
      return failure();
    ArrayRef<int64_t> narrow = pad.getOperand().getType().getShape();
    int64_t row = narrow.size() - 1, n = narrow.back();
    SmallVector<int64_t> shape(narrow);
    shape.push_back(n);
    // Of these shapes, the pad only has room for what lies between elements.
    if (n < 2 || pad.getInterior().back() != n || op.getType().getShape() != ArrayRef(shape))
      return failure();
    RankedTensorType type = op.getType();
    auto positions = RankedTensorType::get({n, n}, rewriter.getI32Type());
    Expr x(rewriter, op.getLoc(), pad.getOperand());
    Expr along = x.with(IotaOp::create(rewriter, op.getLoc(), positions, 0));
    Value across = IotaOp::create(rewriter, op.getLoc(), positions, 1);
    Expr isOn = along.compare(ComparePredicate::eq, across)
                    .broadcast(type.clone(rewriter.getI1Type()), {row, row + 1});
    Value other = splat(rewriter, op.getLoc(), type, pad.getValue().convertToDouble());
    auto dims = llvm::to_vector(llvm::seq<int64_t>(0, row + 1));
    rewriter.replaceOp(op, isOn.select(x.broadcast(type, dims), other).get());
    return success();
  }
};

/// A sum over dims that a broadcast or a constant repeats is a multiplication by their size, in the
/// type in which sums accumulate: f16 has no 70000, and bf16 no 257.
struct SimplifySumOfBroadcast : OpRewritePattern<ReduceSumOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceSumOp op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getOperand().getDefiningOp<BroadcastOp>();
    if (op.getDims().empty() || !(broadcast || isSplatConstant(op.getOperand())))
      return failure();
    auto type = cast<RankedTensorType>(op.getOperand().getType());
    ArrayRef<int64_t> dims = broadcast ? broadcast.getDims() : ArrayRef<int64_t>();
    int64_t count = 1;
    SmallVector<int64_t> summed, kept;
    for (int64_t d : op.getDims())
      if (!llvm::is_contained(dims, d))
        count *= type.getDimSize(d);
    // With no elements the sum is 0, not 0 times a possibly infinite value. The count must be
    // representable in small integer types.
    auto integer = dyn_cast<IntegerType>(type.getElementType());
    if (type.getNumElements() == 0 || (integer && !llvm::isUIntN(integer.getWidth() - 1, count)))
      return failure();
    SmallVector<int64_t> repeated;
    llvm::copy_if(op.getDims(), std::back_inserter(repeated),
                  [&](int64_t d) { return !llvm::is_contained(dims, d); });
    // A constant does not tell which of its dims holds rows, unless all runs have as many.
    bool mayHoldRows = mayHoldBatch(rewriter, type, repeated) && (broadcast || !isExact(op));
    if ((integer || !broadcast) && mayHoldRows)
      return failure();
    SmallVector<int64_t> left = otherDims(type.getRank(), op.getDims());
    for (auto [i, d] : llvm::enumerate(dims)) {
      auto at = llvm::find(left, d);
      if (at == left.end())
        summed.push_back(i);
      else
        kept.push_back(at - left.begin());
    }
    if (summed.size() == op.getDims().size())
      return failure();
    Type accumulator = accumulatorOf(type.getElementType());
    Expr x(rewriter, op.getLoc(),
           broadcast ? broadcast.getOperand() : resizedSplat(rewriter, op.getOperand(), {}));
    Expr sum = x.cast(accumulator).sum(summed);
    // If the repeated dims may hold rows of the batch, their count depends on the run.
    Expr product = sum * double(count);
    if (mayHoldRows) {
      Expr counted =
          sum.with(CountOp::create(rewriter, op.getLoc(), broadcast, repeated, IntegerAttr()));
      product = sum * counted.cast(accumulator).broadcastScalar(sum.type());
    }
    Expr rounded = product.cast(type.getElementType());
    rewriter.replaceOp(op, rounded.broadcast(op.getType(), kept).get());
    return success();
  }
};

/// f(broadcast(x), broadcast(y), splat) = broadcast(f(x, y, splat)): the op runs once per element
/// of x.
struct HoistBroadcast : RewritePattern {
  explicit HoistBroadcast(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<grad::Pointwise>() || op->getNumResults() != 1)
      return failure();
    BroadcastOp first;
    for (Value operand : op->getOperands()) {
      auto broadcast = operand.getDefiningOp<BroadcastOp>();
      if (!broadcast && !isSplatConstant(operand))
        return failure();
      if (!broadcast)
        continue;
      if (!first)
        first = broadcast;
      if (broadcast.getDims() != first.getDims())
        return failure();
    }
    if (!first)
      return failure();
    ArrayRef<int64_t> shape = first.getOperand().getType().getShape();
    auto small = [&](Type type) { return cast<RankedTensorType>(type).clone(shape); };
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      if (auto broadcast = operand.getDefiningOp<BroadcastOp>()) {
        mapping.map(operand, broadcast.getOperand());
        continue;
      }
      mapping.map(operand, resizedSplat(rewriter, operand, shape));
    }
    Operation *hoisted = rewriter.clone(*op, mapping);
    hoisted->getResult(0).setType(small(op->getResult(0).getType()));
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op->getResult(0).getType(), hoisted->getResult(0),
                                             first.getDims());
    return success();
  }
};

/// f(reshape(x), reshape(y), splat) = reshape(f(x, y, splat)), where the reshapes only add dims of
/// 1: a mean that kept its dims is then computed, and repeated, in one kernel with what reads it.
struct HoistUnitDims : RewritePattern {
  explicit HoistUnitDims(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<grad::Pointwise>() || op->getNumResults() != 1)
      return failure();
    RankedTensorType small;
    for (Value operand : op->getOperands()) {
      if (isSplatConstant(operand))
        continue;
      auto reshape = operand.getDefiningOp<ReshapeOp>();
      if (!reshape || !addsUnitDims(reshape))
        return failure();
      RankedTensorType type = reshape.getOperand().getType();
      if (small && small.getShape() != type.getShape())
        return failure();
      small = type;
    }
    if (!small)
      return failure();
    auto reshaped = [&](Value operand) -> Value {
      if (auto reshape = operand.getDefiningOp<ReshapeOp>())
        return reshape.getOperand();
      return resizedSplat(rewriter, operand, small.getShape());
    };
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, reshaped(operand));
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Operation *hoisted = rewriter.clone(*op, mapping);
    hoisted->getResult(0).setType(type.clone(small.getShape()));
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, type, hoisted->getResult(0));
    return success();
  }

private:
  static bool addsUnitDims(ReshapeOp reshape) {
    ArrayRef<int64_t> small = reshape.getOperand().getType().getShape(),
                      wide = reshape.getType().getShape();
    auto sizes = [](ArrayRef<int64_t> shape) {
      return llvm::to_vector(llvm::make_filter_range(shape, [](int64_t n) { return n != 1; }));
    };
    return small.size() < wide.size() && sizes(small) == sizes(wide);
  }
};

struct SimplifyAlgebra : gradc::impl::SimplifyAlgebraBase<SimplifyAlgebra> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SimplifyAdd, SimplifySub, SimplifyMul, SimplifyDiv, SimplifyCast,
                 SimplifyInvolution<NegOp>, SimplifyInvolution<NotOp>, SimplifySelect, MaskMaxima,
                 SimplifyEmptyReduction<ReduceSumOp>, SimplifyEmptyReduction<ReduceProdOp>,
                 SimplifyEmptyReduction<ReduceMaxOp>, SimplifyEmptyReduction<ReduceMinOp>,
                 SimplifyEmptyPad, SelectDiagonal, SimplifySumOfBroadcast, HoistBroadcast,
                 HoistUnitDims>(&getContext());
    gradc::populateReadTransposed(patterns);
    gradc::populateMoveCodes(patterns);
    // Reshapes meet where dims of 1 were between them.
    ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
