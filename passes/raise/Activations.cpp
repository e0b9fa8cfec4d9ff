// x times a gate, which is a function of x alone: GELU in both forms, and SiLU.
#include "passes/raise/Match.h"
#include <numbers>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

/// x and c where `value` is c x; c is 1 where no number is among its factors.
std::pair<Value, double> stripNumber(Value value) {
  if (auto product = value.getDefiningOp<MulOp>())
    for (unsigned i : {0u, 1u})
      if (std::optional<double> number = numberOf(product->getOperand(i)))
        return {product->getOperand(1 - i), *number};
  if (auto quotient = value.getDefiningOp<DivOp>())
    if (std::optional<double> number = numberOf(quotient.getRhs()))
      return {quotient.getLhs(), 1 / *number};
  return {value, 1};
}

/// Walks from f down its only readers, as long as they add numbers, multiply by numbers, or, once,
/// by something else.
class GateWalk {
public:
  explicit GateWalk(Value f) : at(f) {}

  /// One reader further; false: the walk ends before it.
  bool step() {
    if (!at.hasOneUse())
      return false;
    Operation *user = *at.user_begin();
    if (isa<NegOp>(user))
      return scale(user, -1);
    if (!isa<AddOp, SubOp, MulOp, DivOp>(user))
      return false;
    Value other = otherOperand(user, at);
    std::optional<double> number = other ? numberOf(other) : std::nullopt;
    if (!other)
      return false;
    if (isa<MulOp>(user))
      return number ? scale(user, *number) : multiply(user, other);
    if (!number || (isa<DivOp>(user) && other == user->getOperand(0)))
      return false;
    if (isa<DivOp>(user))
      return scale(user, 1 / *number);
    if (factor)
      return false; // a sum behind the product
    bool isSubtrahend = isa<SubOp>(user) && other == user->getOperand(0);
    if (isSubtrahend)
      scale(user, -1);
    offset += isa<SubOp>(user) && !isSubtrahend ? -*number : *number;
    at = user->getResult(0);
    return true;
  }

  Value at, factor;
  double offset = 0, slope = 1;

private:
  bool scale(Operation *user, double number) {
    offset *= number;
    slope *= number;
    at = user->getResult(0);
    return true;
  }
  bool multiply(Operation *user, Value other) {
    if (factor)
      return false;
    factor = other;
    at = user->getResult(0);
    return true;
  }
};

/// x (offset + slope f(argument)) is Composite(x), where `argument` is a polynomial in x. If f is
/// odd, argument and slope may both have the other sign.
template <typename Function, typename Composite> struct RaiseGate : OpRewritePattern<Function> {
  RaiseGate(MLIRContext *context, Polynomial argument, double offset, double slope, bool isOdd,
            bool approximate = false)
      : OpRewritePattern<Function>(context), argument(argument), offset(offset), slope(slope),
        isOdd(isOdd), approximate(approximate) {}

  LogicalResult matchAndRewrite(Function op, PatternRewriter &rewriter) const override {
    GateWalk walk(op.getResult());
    while (walk.step()) {
      if (!walk.factor)
        continue;
      auto [inner, number] = stripNumber(walk.factor);
      if (matches(op, walk, walk.factor, 1))
        return replace(op, walk, walk.factor, rewriter);
      if (number != 1 && walk.factor.hasOneUse() && matches(op, walk, inner, number))
        return replace(op, walk, inner, rewriter);
    }
    return failure();
  }

private:
  bool matches(Function op, const GateWalk &walk, Value x, double number) const {
    Type type = op.getType();
    std::optional<Polynomial> found = polynomialIn(x, op.getOperand());
    if (!found || (op.getOperand() != x && !op.getOperand().hasOneUse()))
      return false;
    for (double sign : {1.0, -1.0}) {
      bool equals = isNear(number * walk.slope, sign * slope, type) &&
                    isNear(number * walk.offset, offset, type);
      for (auto [a, b] : llvm::zip(*found, argument))
        equals &= isNear(a, sign * b, type);
      if (equals)
        return true;
      if (!isOdd)
        return false;
    }
    return false;
  }

  LogicalResult replace(Function op, const GateWalk &walk, Value x, PatternRewriter &b) const {
    Operation *root = walk.at.getDefiningOp();
    b.setInsertionPoint(root);
    Location loc = b.getFusedLoc({op.getLoc(), root->getLoc()});
    Value raised;
    if constexpr (std::is_same_v<Composite, GeluOp>)
      raised = GeluOp::create(b, loc, x, approximate ? b.getUnitAttr() : UnitAttr());
    else
      raised = Composite::create(b, loc, x);
    b.replaceOp(root, raised);
    return success();
  }

  Polynomial argument;
  double offset, slope;
  bool isOdd, approximate;
};

/// 1 / (1 + e^-x), whose parts overflow where it does not, and whose gradient is then NaN.
struct RaiseSigmoid : OpRewritePattern<ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ExpOp op, PatternRewriter &rewriter) const override {
    auto negated = ownedBy<NegOp>(op.getOperand());
    auto sum = op->hasOneUse() ? dyn_cast<AddOp>(*op->user_begin()) : AddOp();
    if (!negated || !sum || !sum->hasOneUse() || numberOf(otherOperand(sum, op)) != 1.0)
      return failure();
    Operation *root = *sum->user_begin();
    auto quotient = dyn_cast<DivOp>(root);
    if (!isa<ReciprocalOp>(root) &&
        !(quotient && quotient.getRhs() == sum && numberOf(quotient.getLhs()) == 1.0))
      return failure();
    rewriter.setInsertionPoint(root);
    rewriter.replaceOpWithNewOp<SigmoidOp>(root, negated.getOperand());
    return success();
  }
};

} // namespace

void gradc::populateRaiseActivations(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  constexpr double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi; // sqrt(2 / pi)
  patterns.add<RaiseGate<ErfOp, GeluOp>>(context, Polynomial{0, 1 / std::numbers::sqrt2, 0, 0}, 0.5,
                                         0.5, /*isOdd=*/true);
  patterns.add<RaiseGate<TanhOp, GeluOp>>(context, Polynomial{0, root, 0, root * 0.044715}, 0.5,
                                          0.5, /*isOdd=*/true, /*approximate=*/true);
  patterns.add<RaiseGate<SigmoidOp, SiluOp>>(context, Polynomial{0, 1, 0, 0}, 0, 1,
                                             /*isOdd=*/false);
  patterns.add<RaiseSigmoid>(context);
}
