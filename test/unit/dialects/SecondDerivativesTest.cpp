// The gradient of every op's gradient, in f64 against differences; a wrong one is detected.
#include "Instances.h"

#include "dialects/grad/Backward.h"

#include "mlir/IR/Verifier.h"
#include <set>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc::test;

namespace {

/// The ops whose gradient depends on their operands. All others are linear or piecewise linear.
const std::set<StringRef> curved = {"grad.atan",
                                    "grad.attention",
                                    "grad.attention_grad",
                                    "grad.binary_cross_entropy",
                                    "grad.convolution",
                                    "grad.cos",
                                    "grad.cumulative",
                                    "grad.div",
                                    "grad.erf",
                                    "grad.exp",
                                    "grad.expm1",
                                    "grad.gelu",
                                    "grad.gelu_grad",
                                    "grad.if",
                                    "grad.log",
                                    "grad.log1p",
                                    "grad.log_softmax",
                                    "grad.matmul",
                                    "grad.mish",
                                    "grad.mul",
                                    "grad.normalize",
                                    "grad.pow",
                                    "grad.reciprocal",
                                    "grad.reduce_prod",
                                    "grad.rsqrt",
                                    "grad.scan",
                                    "grad.scatter",
                                    "grad.sigmoid",
                                    "grad.silu",
                                    "grad.sin",
                                    "grad.softmax",
                                    "grad.softmax_cross_entropy",
                                    "grad.softmax_cross_entropy_grad",
                                    "grad.sqrt",
                                    "grad.squared_error",
                                    "grad.swish",
                                    "grad.tanh"};

/// The rate of change of the gradient's inner product with random numbers, in a random direction.
struct Change {
  double analytic = 0, numeric = 0, scale = 1;
  bool isKnown = false; ///< both derivatives exist
  bool isMissing = false;

  bool agrees() const { return std::abs(analytic - numeric) <= 1e-6 * scale; }
};

class SecondDerivative {
public:
  /// `error`: the relative error added to the gradient's gradient.
  explicit SecondDerivative(Instance &instance, double error = 0)
      : op(instance.op), b(op->getContext()), operands(instance.randomOperands(6)), random(7),
        error(error) {
    b.setInsertionPointAfter(op);
  }

  Change find() {
    Change change;
    if (!buildFirst() || !buildSecond(change))
      return change;
    change.isKnown = true;
    Evaluation evaluation = evaluateAt(0, end);
    for (auto [operand, gradient, direction] :
         llvm::zip_equal(op->getOperands(), second, directions)) {
      if (!gradient)
        continue;
      EXPECT_EQ(gradient.getType(), operand.getType());
      const HostTensor &value = evaluation.get(gradient);
      for (int64_t i = 0; i < value.size(); ++i) {
        double term = value.getFloat(i) * direction.getFloat(i) * (1 + error);
        change.analytic += term;
        change.scale += std::abs(term);
      }
    }
    double h = 1e-6;
    change.numeric = (objective(h) - objective(-h)) / (2 * h);
    return change;
  }

private:
  HostTensor numbers(Type type) {
    return randomTensor(cast<RankedTensorType>(type), Domain::any, random);
  }

  bool buildFirst() {
    SmallVector<Value> arrived;
    for (Value result : op->getResults())
      arrived.push_back(isDifferentiable(result)
                            ? constant(b, op->getLoc(), numbers(result.getType()))
                            : Value());
    first.resize(op->getNumOperands());
    for (Value operand : op->getOperands())
      directions.push_back(numbers(operand.getType()));
    bool flows = llvm::any_of(arrived, [](Value v) { return bool(v); }) &&
                 succeeded(cast<GradientOpInterface>(op).buildGradient(b, arrived, first));
    for (Value gradient : first)
      weights.push_back(gradient ? numbers(gradient.getType()) : HostTensor());
    middle = b.getInsertionPoint();
    return flows && llvm::any_of(first, [](Value v) { return bool(v); });
  }

  bool buildSecond(Change &change) {
    SmallVector<Operation *> ops;
    for (Operation &built : llvm::make_range(op->getIterator(), middle))
      ops.push_back(&built);
    Backward backward;
    for (auto [gradient, weight] : llvm::zip_equal(first, weights))
      if (gradient)
        backward.add(b, gradient, constant(b, op->getLoc(), weight));
    backward.run(b, ops, op->getOperands());
    change.isMissing = !backward.getMissing().empty();
    end = b.getInsertionPoint();
    for (Operation &built : llvm::make_range(middle, end))
      EXPECT_TRUE(succeeded(verify(&built)));
    llvm::SmallPtrSet<void *, 4> seen;
    for (Value operand : op->getOperands())
      second.push_back(isDifferentiable(operand) && seen.insert(operand.getAsOpaquePointer()).second
                           ? backward.lookup(operand)
                           : Value());
    return !change.isMissing;
  }

  /// Evaluates everything built up to `last`, with operands moved by `t` in the direction.
  Evaluation evaluateAt(double t, Block::iterator last) {
    SmallVector<HostTensor> moved(operands);
    for (auto [operand, direction] : llvm::zip_equal(moved, directions))
      if (isa<FloatType>(operand.getElementType()))
        for (int64_t i = 0; i < operand.size(); ++i)
          operand.setFloat(i, operand.getFloat(i) + t * direction.getFloat(i));
    Evaluation evaluation;
    evaluation.setOperands(op, moved);
    for (Operation &built : llvm::make_range(op->getIterator(), last))
      evaluation.run(&built);
    return evaluation;
  }

  double objective(double t) {
    Evaluation evaluation = evaluateAt(t, middle);
    double sum = 0;
    for (auto [gradient, weight] : llvm::zip_equal(first, weights)) {
      if (!gradient)
        continue;
      const HostTensor &value = evaluation.get(gradient);
      for (int64_t i = 0; i < value.size(); ++i)
        sum += value.getFloat(i) * weight.getFloat(i);
    }
    return sum;
  }

  Operation *op;
  OpBuilder b;
  SmallVector<HostTensor> operands, weights, directions;
  SmallVector<Value> first, second;
  Block::iterator middle, end;
  std::mt19937 random;
  double error;
};

/// Casts between types round in one of the two gradients.
bool narrows(Operation *op) {
  auto isNarrow = [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return isa<FloatType>(element) && !element.isF64();
  };
  return llvm::any_of(op->getResultTypes(), isNarrow) ||
         llvm::any_of(op->getOperandTypes(), isNarrow);
}

} // namespace

TEST_F(Contract, SecondDerivativesEqualDirectionalDifferences) {
  std::set<StringRef> bent;
  forEachInstance(/*onlyF64=*/true, [&](Instance &instance) {
    StringRef name = instance.op->getName().getStringRef();
    if (isa<UpdateOpInterface>(instance.op) || narrows(instance.op))
      return;
    Change change = SecondDerivative(instance).find();
    EXPECT_FALSE(change.isMissing) << "the gradient has no gradient";
    if (!change.isKnown)
      return;
    EXPECT_NEAR(change.analytic, change.numeric, 1e-6 * change.scale);
    if (change.analytic != 0)
      bent.insert(name);
  });
  EXPECT_EQ(bent, curved);
}

// A check that always passes shows nothing.
TEST_F(Contract, AWrongSecondDerivativeIsFound) {
  unsigned wrong = 0;
  forEachInstance(/*onlyF64=*/true, [&](Instance &instance) {
    if (!curved.count(instance.op->getName().getStringRef()) || narrows(instance.op))
      return;
    Change change = SecondDerivative(instance, /*error=*/1e-3).find();
    if (change.isKnown && std::abs(change.analytic) > 1e-2 * change.scale) {
      ++wrong;
      EXPECT_FALSE(change.agrees());
    }
  });
  EXPECT_GE(wrong, curved.size() / 2);
}
