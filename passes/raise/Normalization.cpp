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

/// A factor or divisor: the broadcast root of (a mean + epsilon).
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
class NormalizeForm {
public:
  NormalizeForm(BroadcastOp root, const ScaleForm &scale) : root(root), scale(scale) {}

  /// False: the root is read in another way, too.
  bool find(const ExtentAnalysis &extents) {
    std::optional<VarianceForm> found = centredVariance(scale.mean);
    if (!found)
      found = differenceVariance(scale.mean);
    if (!found || scale.dims != found->dims || found->operand.getType() != root.getType())
      return false;
    variance = *found;
    // Means over rows of the batch are of a run's rows, and ranks may share them.
    const Extents *known = extents.find(variance.operand);
    if (known && llvm::any_of(variance.dims, [&](int64_t d) { return (*known)[d] > 0; }))
      return false;
    return llvm::all_of(root->getUsers(), [&](Operation *user) { return findUse(user); }) &&
           !uses.empty();
  }

  void build(ExtentAnalysis &extents) {
    Operation *first = uses.front().op;
    for (const Use &use : uses)
      first = use.op->isBeforeInBlock(first) ? use.op : first;
    OpBuilder b(first);
    auto normalized = NormalizeOp::create(b, b.getFusedLoc({root.getLoc(), first->getLoc()}),
                                          variance.operand, variance.dims, APFloat(scale.epsilon));
    for (const Use &use : uses) {
      b.setInsertionPoint(use.op);
      Expr y(b, use.op->getLoc(), normalized.getResult());
      if (use.gain)
        y = y * y.with(use.gain);
      if (use.shift)
        y = y + y.with(use.shift);
      if (const Extents *known = extents.find(variance.operand))
        extents.set(y, Extents(*known));
      use.op->getResult(0).replaceAllUsesWith(y);
    }
  }

private:
  /// An op whose value is result * gain + shift.
  struct Use {
    Operation *op;
    Value gain, shift;
  };

  bool repeatsMean(Value value) const {
    return repeatedOver(value, variance.dims) == variance.mean;
  }
  bool isCentred(Value value) const {
    auto centred = value.getDefiningOp<SubOp>();
    return centred && centred.getLhs() == variance.operand && repeatsMean(centred.getRhs());
  }

  bool findUse(Operation *user) {
    if (!scale.isInverse) {
      auto quotient = dyn_cast<DivOp>(user);
      if (quotient && quotient.getRhs() == root && isCentred(quotient.getLhs()))
        uses.push_back({user, {}, {}});
      return !uses.empty() && uses.back().op == user;
    }
    Value other = isa<MulOp>(user) ? otherOperand(user, root) : Value();
    if (other && isCentred(other)) {
      uses.push_back({user, {}, {}});
      return true;
    }
    return other && llvm::all_of(user->getUsers(), [&](Operation *reader) {
             return findGainUse(user->getResult(0), other, reader);
           });
  }

  /// `factor` is root * gain: (x - mean) times that, or x times that + (shift - mean times that).
  bool findGainUse(Value factor, Value gain, Operation *reader) {
    Value left = isa<MulOp>(reader) ? otherOperand(reader, factor) : Value();
    if (left && isCentred(left)) {
      uses.push_back({reader, gain, {}});
      return true;
    }
    if (left != variance.operand)
      return left && repeatsMean(left); // it is looked at from the operand's part
    auto sum = reader->hasOneUse() ? dyn_cast<AddOp>(*reader->user_begin()) : AddOp();
    Value rest = sum ? otherOperand(sum, reader->getResult(0)) : Value();
    auto difference = rest ? ownedBy<SubOp>(rest) : SubOp();
    auto moved = difference ? ownedBy<MulOp>(difference.getRhs()) : MulOp();
    Value mean = moved ? otherOperand(moved, factor) : Value();
    if (!mean || !repeatsMean(mean))
      return false;
    uses.push_back({sum, gain, difference.getLhs()});
    return true;
  }

  BroadcastOp root;
  ScaleForm scale;
  VarianceForm variance;
  SmallVector<Use> uses;
};

/// x / sqrt(mean(x^2) + epsilon) multiplies by the inverse root of each row, an op of few elements.
void raiseRms(BroadcastOp op, const ScaleForm &scale, ExtentAnalysis &extents) {
  std::optional<MeanForm> squares = meanForm(scale.mean);
  auto square = squares ? squares->operand.getDefiningOp<MulOp>() : MulOp();
  Value x = square ? square.getLhs() : Value();
  if (!x || square.getRhs() != x || squares->dims != scale.dims ||
      op.getOperand().getDefiningOp<RsqrtOp>())
    return;
  bool isReadAlike = llvm::all_of(op->getUsers(), [&](Operation *user) {
    if (scale.isInverse)
      return isa<MulOp>(user) && otherOperand(user, op) == x;
    auto quotient = dyn_cast<DivOp>(user);
    return quotient && quotient.getRhs() == op && quotient.getLhs() == x;
  });
  if (!isReadAlike)
    return;
  OpBuilder b(op);
  Expr mean(b, op.getLoc(), scale.mean);
  Expr inverse = (mean + scale.epsilon).apply<RsqrtOp>().broadcast(op.getType(), op.getDims());
  for (Operation *user : llvm::to_vector(op->getUsers())) {
    b.setInsertionPoint(user);
    Value y = inverse.with(x) * inverse;
    if (const Extents *known = extents.find(x))
      extents.set(y, Extents(*known));
    user->getResult(0).replaceAllUsesWith(y);
  }
}

} // namespace

void gradc::raiseNormalizations(func::FuncOp function, ExtentAnalysis &extents) {
  for (auto broadcast : llvm::to_vector(function.getOps<BroadcastOp>())) {
    std::optional<ScaleForm> scale = scaleForm(broadcast);
    if (!scale)
      continue;
    NormalizeForm form(broadcast, *scale);
    if (form.find(extents))
      form.build(extents);
    else
      raiseRms(broadcast, *scale, extents);
  }
}
