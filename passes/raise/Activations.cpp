// x times a gate, which is a function of x alone: GELU in both forms, SiLU, and Mish.
#include "passes/raise/Match.h"
#include <limits>
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

/// The composite x (offset + slope f(argument)), where `argument` is a function of x.
struct Gate {
  double offset, slope;
  bool isOdd; ///< f is odd, so argument and slope may both have the other sign
  /// Whether `argument` is `sign` times that of the composite; its parameter, if it has one.
  std::function<std::optional<double>(Value x, Value argument, double sign)> match;
  std::function<Value(OpBuilder &, Location, Value x, double parameter)> build;
};

template <typename Function> struct RaiseGate : OpRewritePattern<Function> {
  RaiseGate(MLIRContext *context, Gate gate)
      : OpRewritePattern<Function>(context), gate(std::move(gate)) {}

  LogicalResult matchAndRewrite(Function op, PatternRewriter &rewriter) const override {
    GateWalk walk(op.getResult());
    while (walk.step()) {
      if (!walk.factor)
        continue;
      auto [inner, number] = stripNumber(walk.factor);
      Value x = walk.factor;
      std::optional<double> parameter = match(op, walk, x, 1);
      if (!parameter && number != 1 && walk.factor.hasOneUse()) {
        x = inner;
        parameter = match(op, walk, x, number);
      }
      if (parameter)
        return replace(op, walk, x, *parameter, rewriter);
    }
    return failure();
  }

private:
  std::optional<double> match(Function op, const GateWalk &walk, Value x, double number) const {
    Type type = op.getType();
    if (op.getOperand() != x && !op.getOperand().hasOneUse())
      return std::nullopt;
    for (double sign : {1.0, -1.0}) {
      if (isNear(number * walk.slope, sign * gate.slope, type) &&
          isNear(number * walk.offset, gate.offset, type))
        if (std::optional<double> parameter = gate.match(x, op.getOperand(), sign))
          return parameter;
      if (!gate.isOdd)
        break;
    }
    return std::nullopt;
  }

  LogicalResult replace(Function op, const GateWalk &walk, Value x, double parameter,
                        PatternRewriter &b) const {
    Operation *root = walk.at.getDefiningOp();
    b.setInsertionPoint(root);
    Location loc = b.getFusedLoc({op.getLoc(), root->getLoc()});
    b.replaceOp(root, gate.build(b, loc, x, parameter));
    return success();
  }

  Gate gate;
};

/// A gate whose argument is the polynomial in x.
Gate geluGate(Polynomial polynomial, bool approximate) {
  auto match = [polynomial](Value x, Value argument, double sign) -> std::optional<double> {
    std::optional<Polynomial> found = polynomialIn(x, argument);
    if (!found)
      return std::nullopt;
    for (auto [a, b] : llvm::zip(*found, polynomial))
      if (!isNear(a, sign * b, x.getType()))
        return std::nullopt;
    return 1;
  };
  auto build = [approximate](OpBuilder &b, Location loc, Value x, double) -> Value {
    return GeluOp::create(b, loc, x, approximate ? b.getUnitAttr() : UnitAttr());
  };
  return {0.5, 0.5, /*isOdd=*/true, match, build};
}

/// The slope of a line through 0.
std::optional<double> slopeIn(Value x, Value argument, double) {
  std::optional<Polynomial> found = polynomialIn(x, argument);
  bool isLine = found && !(*found)[0] && (*found)[1] && !(*found)[2] && !(*found)[3];
  return isLine ? std::optional((*found)[1]) : std::nullopt;
}

/// y where `value` is ln(1 + e^y); null: it is not, or a part of it is read elsewhere.
Value logOfPlusOne(Value value) {
  Value power;
  if (auto log = ownedBy<Log1pOp>(value))
    power = log.getOperand();
  else if (auto log = ownedBy<LogOp>(value))
    if (auto sum = ownedBy<AddOp>(log.getOperand()))
      for (unsigned i : {0u, 1u})
        if (numberOf(sum->getOperand(i)) == 1.0)
          power = sum->getOperand(1 - i);
  auto exponential = power ? ownedBy<ExpOp>(power) : ExpOp();
  return exponential ? exponential.getOperand() : Value();
}

/// Whether `value` is max(x, 0).
bool isPositivePart(Value value, Value x) {
  if (auto relu = value.getDefiningOp<ReluOp>())
    return relu.getOperand() == x;
  if (auto clamp = value.getDefiningOp<ClampOp>())
    return clamp.getOperand() == x && clamp.getLow().isZero() &&
           clamp.getHigh().convertToDouble() >= double(std::numeric_limits<float>::max());
  auto larger = value.getDefiningOp<MaxOp>();
  return larger && numberOf(otherOperand(larger, x)) == 0.0;
}

/// Whether `value` is -|x|, perhaps as x > 0 ? -x : x.
bool isNegativeSize(Value value, Value x) {
  auto negationOf = [](Value of) {
    auto negated = ownedBy<NegOp>(of);
    return negated ? negated.getOperand() : Value();
  };
  if (auto select = ownedBy<SelectOp>(value)) {
    auto compare = select.getCondition().getDefiningOp<CompareOp>();
    return compare && compare.getPredicate() == ComparePredicate::gt && compare.getLhs() == x &&
           numberOf(compare.getRhs()) == 0.0 && negationOf(select.getOnTrue()) == x &&
           select.getOnFalse() == x;
  }
  Value negated = negationOf(value);
  auto size = negated ? ownedBy<AbsOp>(negated) : AbsOp();
  return size && size.getOperand() == x;
}

/// Whether `argument` is ln(1 + e^x), or max(x, 0) + ln(1 + e^-|x|), which does not overflow.
std::optional<double> isSoftplus(Value x, Value argument, double) {
  if (logOfPlusOne(argument) == x)
    return 1;
  auto sum = ownedBy<AddOp>(argument);
  if (!sum)
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    Value exponent = logOfPlusOne(sum->getOperand(1 - i));
    if (exponent && isNegativeSize(exponent, x) && sum->getOperand(i).hasOneUse() &&
        isPositivePart(sum->getOperand(i), x))
      return 1;
  }
  return std::nullopt;
}

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
  patterns.add<RaiseGate<ErfOp>>(context, geluGate({0, 1 / std::numbers::sqrt2, 0, 0}, false));
  patterns.add<RaiseGate<TanhOp>>(context, geluGate({0, root, 0, root * 0.044715}, true));
  patterns.add<RaiseGate<SigmoidOp>>(
      context, Gate{0, 1, /*isOdd=*/false, slopeIn,
                    [](OpBuilder &b, Location loc, Value x, double slope) -> Value {
                      return slope == 1
                                 ? SiluOp::create(b, loc, x).getResult()
                                 : SwishOp::create(b, loc, x, b.getF64FloatAttr(slope)).getResult();
                    }});
  patterns.add<RaiseGate<TanhOp>>(context,
                                  Gate{0, 1, /*isOdd=*/false, isSoftplus,
                                       [](OpBuilder &b, Location loc, Value x, double) -> Value {
                                         return MishOp::create(b, loc, x);
                                       }});
  patterns.add<RaiseSigmoid>(context);
}
