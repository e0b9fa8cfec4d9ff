// Layer, instance and batch normalization from means, and x / sqrt(mean(x^2) + epsilon).
#include "passes/raise/Match.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

bool isSquareOf(Value value, Value x) {
  auto product = value.getDefiningOp<MulOp>();
  return product && product.getLhs() == x && product.getRhs() == x;
}

/// A variance, and what it is the variance of.
struct VarianceForm {
  Value operand, mean;
  SmallVector<int64_t> dims;
};

/// mean((x - mean(x))^2).
std::optional<VarianceForm> centredVariance(Value value) {
  std::optional<MeanForm> variance = meanForm(value);
  auto square = variance ? variance->operand.getDefiningOp<MulOp>() : MulOp();
  auto centred = square ? square.getLhs().getDefiningOp<SubOp>() : SubOp();
  if (!centred || square.getRhs() != centred)
    return std::nullopt;
  Value mean = repeatedOver(centred.getRhs(), variance->dims);
  std::optional<MeanForm> centre = mean ? meanForm(mean) : std::nullopt;
  if (!centre || centre->operand != centred.getLhs() || centre->dims != variance->dims)
    return std::nullopt;
  return VarianceForm{centred.getLhs(), mean, variance->dims};
}

/// mean(x^2) - mean(x)^2, perhaps with max(0, ..), as Flax writes it.
std::optional<VarianceForm> differenceVariance(Value value) {
  if (auto larger = value.getDefiningOp<MaxOp>())
    for (unsigned i : {0u, 1u})
      if (numberOf(larger->getOperand(i)) == 0.0)
        value = larger->getOperand(1 - i);
  auto difference = value.getDefiningOp<SubOp>();
  std::optional<MeanForm> squares = difference ? meanForm(difference.getLhs()) : std::nullopt;
  auto square = difference ? difference.getRhs().getDefiningOp<MulOp>() : MulOp();
  std::optional<MeanForm> mean = square ? meanForm(square.getLhs()) : std::nullopt;
  if (!squares || !mean || square.getLhs() != square.getRhs() || mean->dims != squares->dims ||
      !isSquareOf(squares->operand, mean->operand))
    return std::nullopt;
  return VarianceForm{mean->operand, square.getLhs(), mean->dims};
}

/// 1 / sqrt(base), or sqrt(base) where that divides something.
struct RootForm {
  Value base;
  bool isInverse;
};
std::optional<RootForm> rootForm(Value value) {
  if (auto rsqrt = value.getDefiningOp<RsqrtOp>())
    return RootForm{rsqrt.getOperand(), true};
  if (auto root = value.getDefiningOp<SqrtOp>())
    return RootForm{root.getOperand(), false};
  if (auto power = value.getDefiningOp<PowOp>()) {
    std::optional<double> exponent = numberOf(power.getRhs());
    if (exponent == -0.5 || exponent == 0.5)
      return RootForm{power.getLhs(), *exponent < 0};
    return std::nullopt;
  }
  Value inverted;
  if (auto reciprocal = value.getDefiningOp<ReciprocalOp>())
    inverted = reciprocal.getOperand();
  else if (auto quotient = value.getDefiningOp<DivOp>();
           quotient && numberOf(quotient.getLhs()) == 1.0)
    inverted = quotient.getRhs();
  std::optional<RootForm> root = inverted ? rootForm(inverted) : std::nullopt;
  return root && !root->isInverse ? std::optional(RootForm{root->base, true}) : std::nullopt;
}

/// What is read times, or divided by, a repeated root of (a mean + epsilon).
struct ScaleForm {
  Value mean;
  double epsilon;
  bool isInverse;
  SmallVector<int64_t> dims;
};
std::optional<ScaleForm> scaleForm(BroadcastOp broadcast) {
  std::optional<RootForm> root = rootForm(broadcast.getOperand());
  auto sum = root ? root->base.getDefiningOp<AddOp>() : AddOp();
  if (!sum)
    return std::nullopt;
  for (unsigned i : {0u, 1u})
    if (std::optional<double> epsilon = numberOf(sum->getOperand(1 - i)); epsilon && *epsilon >= 0)
      return ScaleForm{sum->getOperand(i), *epsilon, root->isInverse,
                       otherDims(broadcast.getType().getRank(), broadcast.getDims())};
  return std::nullopt;
}

/// (x - mean) / sqrt(variance + epsilon), where the factor behind it, a gain, may have been
/// multiplied with the root first.
struct RaiseNormalize : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    std::optional<ScaleForm> scale = scaleForm(op);
    if (!scale)
      return failure();
    std::optional<VarianceForm> variance = centredVariance(scale->mean);
    if (!variance)
      variance = differenceVariance(scale->mean);
    if (!variance || scale->dims != variance->dims || variance->operand.getType() != op.getType())
      return failure();
    SmallVector<Use> uses;
    for (Operation *user : op->getUsers())
      if (!findUse(op, user, *scale, *variance, uses))
        return failure();
    if (uses.empty())
      return failure();
    Operation *first = uses.front().root;
    for (const Use &use : uses)
      if (use.root->getBlock() == first->getBlock() && use.root->isBeforeInBlock(first))
        first = use.root;
    rewriter.setInsertionPoint(first);
    auto normalized =
        NormalizeOp::create(rewriter, rewriter.getFusedLoc({op.getLoc(), first->getLoc()}),
                            variance->operand, variance->dims, APFloat(scale->epsilon));
    for (const Use &use : uses) {
      rewriter.setInsertionPoint(use.root);
      Expr y(rewriter, use.root->getLoc(), normalized.getResult());
      if (use.gain)
        y = y * y.with(use.gain);
      if (use.shift)
        y = y + y.with(use.shift);
      rewriter.replaceOp(use.root, y.get());
    }
    return success();
  }

private:
  /// An op whose value is result * gain + shift.
  struct Use {
    Operation *root;
    Value gain, shift;
  };

  static bool isCentred(Value value, const VarianceForm &variance) {
    auto centred = value.getDefiningOp<SubOp>();
    return centred && centred.getLhs() == variance.operand &&
           repeatedOver(centred.getRhs(), variance.dims) == variance.mean;
  }

  /// False: `user` reads the root in another way.
  static bool findUse(BroadcastOp root, Operation *user, const ScaleForm &scale,
                      const VarianceForm &variance, SmallVectorImpl<Use> &uses) {
    if (!scale.isInverse) {
      auto quotient = dyn_cast<DivOp>(user);
      if (!quotient || quotient.getRhs() != root || !isCentred(quotient.getLhs(), variance))
        return false;
      uses.push_back({user, {}, {}});
      return true;
    }
    Value other = isa<MulOp>(user) ? otherOperand(user, root) : Value();
    if (!other)
      return false;
    if (isCentred(other, variance)) {
      uses.push_back({user, {}, {}});
      return true;
    }
    // root * gain, then (x - mean) times that, or x times that + (shift - mean times that).
    Value factor = user->getResult(0);
    for (Operation *reader : factor.getUsers()) {
      Value left = isa<MulOp>(reader) ? otherOperand(reader, factor) : Value();
      if (left && isCentred(left, variance)) {
        uses.push_back({reader, other, {}});
        continue;
      }
      if (!left || (left != variance.operand && repeatedOver(left, variance.dims) != variance.mean))
        return false;
      if (left != variance.operand)
        continue; // the mean's part is looked at from the operand's
      auto sum = reader->hasOneUse() ? dyn_cast<AddOp>(*reader->user_begin()) : AddOp();
      Value rest = sum ? otherOperand(sum, reader->getResult(0)) : Value();
      auto difference = rest ? ownedBy<SubOp>(rest) : SubOp();
      auto moved = difference ? ownedBy<MulOp>(difference.getRhs()) : MulOp();
      Value mean = moved ? otherOperand(moved, factor) : Value();
      if (!mean || repeatedOver(mean, variance.dims) != variance.mean)
        return false;
      uses.push_back({sum, other, difference.getLhs()});
    }
    return true;
  }
};

/// x / sqrt(mean(x^2) + epsilon) multiplies by the inverse root of each row, one op of few
/// elements.
struct RaiseRms : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    std::optional<ScaleForm> scale = scaleForm(op);
    if (!scale || op.getOperand().getDefiningOp<RsqrtOp>())
      return failure();
    std::optional<MeanForm> squares = meanForm(scale->mean);
    auto square = squares ? squares->operand.getDefiningOp<MulOp>() : MulOp();
    Value x = square ? square.getLhs() : Value();
    if (!x || square.getRhs() != x || squares->dims != scale->dims)
      return failure();
    bool isReadAlike = llvm::all_of(op->getUsers(), [&](Operation *user) {
      if (scale->isInverse)
        return isa<MulOp>(user) && otherOperand(user, op) == x;
      auto quotient = dyn_cast<DivOp>(user);
      return quotient && quotient.getRhs() == op && quotient.getLhs() == x;
    });
    if (!isReadAlike)
      return failure();
    Expr mean(rewriter, op.getLoc(), scale->mean);
    Expr inverse = (mean + scale->epsilon).apply<RsqrtOp>();
    Expr repeated = inverse.broadcast(op.getType(), op.getDims());
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      rewriter.setInsertionPoint(user);
      rewriter.replaceOp(user, (repeated.with(x) * repeated).get());
    }
    return success();
  }
};

} // namespace

void gradc::populateRaiseNormalization(RewritePatternSet &patterns) {
  patterns.add<RaiseNormalize, RaiseRms>(patterns.getContext());
}
