// The guarantees of every op of the grad dialect, checked for all registered ops.
#include "Instances.h"
#include "LoopInterpreter.h"

#include "dialects/grad/Backward.h"

#include "mlir/IR/Verifier.h"
#include <set>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc::test;

namespace {

/// Ops of programs rather than tensors: they have no value of their own to check.
const std::set<StringRef> structural = {"grad.state", "grad.read", "grad.write",  "grad.gradient",
                                        "grad.yield", "grad.send", "grad.receive"};

/// The ops without a gradient, by kind, beside optimizer updates. No other op may join this list.
const std::set<StringRef> withoutGradient = {
    // Integers, logic, comparisons
    "grad.and", "grad.or", "grad.xor", "grad.not", "grad.shift_left", "grad.shift_right",
    "grad.compare", "grad.is_finite", "grad.argmax", "grad.argsort", "grad.non_max_suppression",
    "grad.count", "grad.iota", "grad.constant", "grad.positions",
    // Rounding, and functions that are constant between steps
    "grad.floor", "grad.ceil", "grad.round", "grad.sign",
    // Bits, as a function of which a number jumps
    "grad.bit_cast",
    // Random
    "grad.random_bits", "grad.random_uniform", "grad.random_normal",
    // Parts of an update, which are built on gradients
    "grad.reduce_scatter", "grad.all_gather"};

/// Loops round after each op, `evaluate` only once: results may differ by a few units in the last
/// place.
double toleranceOf(Type element) {
  if (element.isF64())
    return 1e-12;
  if (element.isF16())
    return 4e-3;
  return element.isBF16() ? 3e-2 : 4e-6;
}

} // namespace

TEST_F(Contract, EveryOpHasASampleThatParses) {
  std::set<StringRef> sampled(structural);
  for (const Sample &sample : samples())
    sampled.insert(sample.opName());
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "grad")
      EXPECT_TRUE(sampled.count(name.getStringRef())) << name.getStringRef().str();
  forEachInstance(/*onlyF64=*/false, [](Instance &) {});
}

TEST_F(Contract, EveryOpAnswersTheQuestionsOfThePasses) {
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "grad" || structural.count(name.getStringRef()))
      continue;
    SCOPED_TRACE(name.getStringRef().str());
    EXPECT_TRUE(name.hasInterface<EvaluateOpInterface>());
    EXPECT_TRUE(name.hasInterface<GradientOpInterface>());
    EXPECT_TRUE(name.hasInterface<CostOpInterface>());
    EXPECT_TRUE(name.hasInterface<PrecisionOpInterface>());
    EXPECT_TRUE(name.hasInterface<OperandRoleOpInterface>());
    // Ranks compute a sum together: no kernel does.
    bool isNode =
        name.hasTrait<OpTrait::IsIsolatedFromAbove>() || name.hasInterface<CollectiveOpInterface>();
    EXPECT_EQ(name.hasInterface<LoopsOpInterface>() + name.hasInterface<DecomposeOpInterface>(),
              isNode ? 0 : 1)
        << "an op is a primitive with loops, a composite that decomposes, or a node of the "
           "schedule";
  }
  forEachInstance(/*onlyF64=*/false, [](Instance &instance) {
    EXPECT_GE(cast<CostOpInterface>(instance.op).getFlops(), 0);
  });
}

TEST_F(Contract, CompositesEqualTheirDecompositions) {
  forEachInstance(/*onlyF64=*/true, [](Instance &instance) {
    auto composite = dyn_cast<DecomposeOpInterface>(instance.op);
    if (!composite)
      return;
    SmallVector<HostTensor> operands = instance.randomOperands(1);
    SmallVector<HostTensor> expected = evaluateOp(instance.op, operands);
    OpBuilder b(instance.op);
    SmallVector<Value> results = composite.decompose(b);
    ASSERT_EQ(results.size(), expected.size());
    Evaluation evaluation;
    evaluation.setOperands(instance.op, operands);
    for (Operation &op : *instance.op->getBlock()) {
      if (&op == instance.op)
        break;
      EXPECT_FALSE(isa<DecomposeOpInterface>(op)) << "decomposes into a composite";
      EXPECT_TRUE(succeeded(verify(&op)));
      evaluation.run(&op);
    }
    for (auto [result, type, tensor] :
         llvm::zip_equal(results, instance.op->getResultTypes(), expected)) {
      EXPECT_EQ(result.getType(), type);
      expectClose(evaluation.get(result), tensor, 1e-12);
    }
  });
}

/// Lowers the op in its own block, and compares the results of its loops with `evaluate`.
static void expectLoopsEqualEvaluate(Operation *op, ArrayRef<HostTensor> operands) {
  SmallVector<HostTensor> signless;
  // A gather's loops capture its data, which dominance only allows inside a function.
  OwningOpRef<func::FuncOp> function =
      func::FuncOp::create(op->getLoc(), "loops", FunctionType::get(op->getContext(), {}, {}));
  Block &block = function->getBody().emplaceBlock();
  for (const HostTensor &operand : operands) {
    RankedTensorType type = signlessType(operand.getType());
    signless.push_back(HostTensor(type, operand.bytes()));
    block.addArgument(type, op->getLoc());
  }
  OpBuilder b(op->getContext());
  b.setInsertionPointToEnd(&block);
  SmallVector<Value> values = cast<LoopsOpInterface>(op).lowerToLoops(b, block.getArguments());
  // The generics of an assembly write parts of one result, which linalg's verifier does not expect.
  if (cast<LoopsOpInterface>(op).getLoopKind() != LoopKind::assembly)
    for (Operation &lowered : block)
      EXPECT_TRUE(succeeded(verify(&lowered)));
  LoopInterpreter interpreter;
  interpreter.run(block, signless);
  ASSERT_EQ(interpreter.getUnknown(), "") << "the interpreter lacks this op";
  for (auto [value, expected] : llvm::zip_equal(values, evaluateOp(op, operands))) {
    ASSERT_EQ(value.getType(), signlessType(expected.getType()));
    HostTensor found(expected.getType(), interpreter.lookup(value).bytes());
    expectClose(found, expected, toleranceOf(expected.getElementType()));
  }
}

TEST_F(Contract, LoopsComputeWhatEvaluateSays) {
  forEachInstance(/*onlyF64=*/false, [](Instance &instance) {
    if (isa<LoopsOpInterface>(instance.op))
      expectLoopsEqualEvaluate(instance.op, instance.randomOperands(2));
  });
}

TEST_F(Contract, LoopsAgreeOnSpecialValues) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double specials[] = {0.0, -0.0, inf, -inf, nan, 1e-40, -1e-310, 1.5, -1.0, 3.0};
  forEachInstance(/*onlyF64=*/false, [&](Instance &instance) {
    if (!isa<LoopsOpInterface>(instance.op) ||
        llvm::none_of(instance.op->getOperands(), isDifferentiable))
      return;
    for (unsigned shift = 0; shift < std::size(specials); ++shift) {
      SmallVector<HostTensor> operands = instance.randomOperands(3);
      for (auto [which, operand] : llvm::enumerate(operands)) {
        // Loops multiply taps outside the operand by 0, which is visible if the filter is not
        // finite.
        if (isa<ConvolutionOp>(instance.op) && which == 1)
          continue;
        if (isa<FloatType>(operand.getElementType()))
          for (int64_t i = 0; i < operand.size(); ++i)
            operand.setFloat(i, specials[(i + (which + 1) * shift) % std::size(specials)]);
      }
      expectLoopsEqualEvaluate(instance.op, operands);
    }
  });
}

// d/dt of <c, op(x + t d)> at 0, with random c and d, by central differences of `evaluate` and by
// buildGradient. f64 throughout.
TEST_F(Contract, GradientsEqualDirectionalDifferences) {
  std::set<StringRef> flows;
  forEachInstance(/*onlyF64=*/true, [&](Instance &instance) {
    Operation *op = instance.op;
    StringRef name = op->getName().getStringRef();
    SmallVector<HostTensor> operands = instance.randomOperands(4);
    std::mt19937 random(5);
    SmallVector<HostTensor> weights, directions;
    for (Type type : op->getResultTypes())
      weights.push_back(randomTensor(cast<RankedTensorType>(type), Domain::any, random));
    for (const HostTensor &operand : operands)
      directions.push_back(randomTensor(operand.getType(), Domain::any, random));

    Evaluation evaluation;
    evaluation.setOperands(op, operands);
    evaluation.run(op);
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    SmallVector<Value> arrived, sent(op->getNumOperands());
    for (auto [result, weight] : llvm::zip_equal(op->getResults(), weights))
      arrived.push_back(isDifferentiable(result) ? constant(b, op->getLoc(), weight) : Value());
    if (llvm::none_of(arrived, [](Value v) { return bool(v); }))
      return;
    if (failed(cast<GradientOpInterface>(op).buildGradient(b, arrived, sent)))
      return;
    for (Operation *built = op->getNextNode(); !built->hasTrait<OpTrait::IsTerminator>();
         built = built->getNextNode()) {
      EXPECT_TRUE(succeeded(verify(built)));
      evaluation.run(built);
    }

    double analytic = 0, scale = 1;
    for (auto [operand, gradient, direction] :
         llvm::zip_equal(op->getOperands(), sent, directions)) {
      if (!gradient)
        continue;
      flows.insert(name);
      ASSERT_EQ(gradient.getType(), operand.getType());
      const HostTensor &value = evaluation.get(gradient);
      for (int64_t i = 0; i < value.size(); ++i) {
        analytic += value.getFloat(i) * direction.getFloat(i);
        scale += std::abs(value.getFloat(i) * direction.getFloat(i));
      }
    }
    if (isa<StraightThroughOp>(op)) // has the gradient of the identity, whatever its value
      return;
    auto objective = [&](double t) {
      SmallVector<HostTensor> moved(operands);
      for (auto [operand, direction] : llvm::zip_equal(moved, directions))
        if (isa<FloatType>(operand.getElementType()))
          for (int64_t i = 0; i < operand.size(); ++i)
            operand.setFloat(i, operand.getFloat(i) + t * direction.getFloat(i));
      double sum = 0;
      for (auto [result, weight] : llvm::zip_equal(evaluateOp(op, moved), weights))
        if (isa<FloatType>(result.getElementType()))
          for (int64_t i = 0; i < result.size(); ++i)
            sum += result.getFloat(i) * weight.getFloat(i);
      return sum;
    };
    // A cast to f32 rounds its operand, so the difference must be larger.
    bool narrows = llvm::any_of(op->getResultTypes(), [](Type type) {
      return isa<FloatType>(getElementTypeOrSelf(type)) && !getElementTypeOrSelf(type).isF64();
    });
    double h = narrows ? 1e-2 : 1e-6, tolerance = narrows ? 1e-4 : 1e-7;
    double numeric = (objective(h) - objective(-h)) / (2 * h);
    EXPECT_NEAR(analytic, numeric, tolerance * scale);
  });

  for (const Sample &sample : samples())
    if (!OperationName(sample.opName(), &context).hasInterface<UpdateOpInterface>())
      EXPECT_NE(flows.count(sample.opName()), withoutGradient.count(sample.opName()))
          << sample.opName().str() << " belongs in the list of ops without gradient, or out of it";
}
