// Ops over all steps of a loop at once compute the same as step by step.
#include "Instances.h"

#include "dialects/grad/control/Control.h"
#include "dialects/grad/control/OverSteps.h"

#include "mlir/IR/Verifier.h"
#include <set>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc::test;

namespace {

constexpr int64_t steps = 3;

/// Ops that are neither pointwise nor contractions.
const std::set<std::string> withModel = {
    "grad.argmax",      "grad.argsort",     "grad.broadcast",   "grad.concatenate",
    "grad.cumulative",  "grad.log_softmax", "grad.pad",         "grad.reduce_max",
    "grad.reduce_mean", "grad.reduce_min",  "grad.reduce_prod", "grad.reduce_sum",
    "grad.reshape",     "grad.slice",       "grad.softmax",     "grad.transpose"};

/// The concatenated tensors.
HostTensor stackOf(ArrayRef<HostTensor> tensors) {
  HostTensor stack(stackType(tensors[0].getType(), tensors.size()));
  size_t bytes = tensors[0].bytes().size();
  for (auto [i, tensor] : llvm::enumerate(tensors))
    llvm::copy(tensor.bytes(), stack.mutableBytes().begin() + i * bytes);
  return stack;
}

/// Compares the op's results over steps in which the operands in `stacked` change, computed at once
/// and step by step.
void compare(Instance &instance, const llvm::SmallBitVector &stacked) {
  Operation *op = instance.op;
  SmallVector<SmallVector<HostTensor>> operands, results;
  for (int64_t step = 0; step < steps; ++step) {
    operands.push_back(instance.randomOperands(uint32_t(step)));
    for (unsigned i = 0; i < operands[0].size(); ++i)
      if (!stacked[i])
        operands[step][i] = operands[0][i];
    results.push_back(evaluateOp(op, operands[step]));
  }
  auto allSteps = [](ArrayRef<SmallVector<HostTensor>> tensors, size_t i) {
    return stackOf(llvm::map_to_vector(tensors, [&](const auto &step) { return step[i]; }));
  };

  OpBuilder b(op->getContext());
  Block block;
  b.setInsertionPointToEnd(&block);
  Evaluation evaluation;
  for (unsigned i = 0; i < operands[0].size(); ++i) {
    HostTensor tensor = stacked[i] ? allSteps(operands, i) : operands[0][i];
    evaluation.set(block.addArgument(tensor.getType(), op->getLoc()), tensor);
  }
  SmallVector<Value> stacks = buildOverSteps(b, op, block.getArguments(), stacked, steps);
  for (Operation &built : block) {
    ASSERT_TRUE(succeeded(verify(&built)));
    evaluation.run(&built);
  }
  for (auto [i, stack] : llvm::enumerate(stacks)) {
    ASSERT_EQ(stack.getType(), stackType(op->getResult(i).getType(), steps));
    expectClose(evaluation.get(stack), allSteps(results, i), 1e-12);
  }
}

} // namespace

TEST_F(Contract, OpsOverStepsEqualTheirSteps) {
  std::set<std::string> compared;
  forEachInstance(/*onlyF64=*/true, [&](Instance &instance) {
    unsigned count = instance.op->getNumOperands();
    for (unsigned subset = 1; subset < 1u << count; ++subset) {
      llvm::SmallBitVector stacked(count);
      for (unsigned i = 0; i < count; ++i)
        if (subset >> i & 1)
          stacked.set(i);
      if (!canRunOverSteps(instance.op, stacked))
        continue;
      compared.insert(instance.op->getName().getStringRef().str());
      compare(instance, stacked);
    }
  });
  EXPECT_TRUE(compared.count("grad.matmul") && compared.count("grad.select"));
  for (const std::string &name : withModel)
    EXPECT_TRUE(compared.count(name)) << name << " runs over no steps";
  for (RegisteredOperationName name : context.getRegisteredOperations())
    EXPECT_EQ(name.hasInterface<OverStepsOpInterface>(),
              withModel.count(name.getStringRef().str()) > 0)
        << name.getStringRef().str();
}

TEST_F(Contract, WindowsStayInTheirLoop) {
  unsigned windows = 0;
  forEachInstance(/*onlyF64=*/true, [&](Instance &instance) {
    auto contraction = dyn_cast<ContractionOpInterface>(instance.op);
    bool hasWindow = contraction && contraction.getLetters().window;
    windows += hasWindow;
    EXPECT_FALSE(hasWindow && canRunOverSteps(instance.op, llvm::SmallBitVector(2, true)));
  });
  EXPECT_GT(windows, 0u);
}

TEST_F(Contract, SumsOverStepsEqualTheSumOfSteps) {
  unsigned compared = 0;
  forEachInstance(/*onlyF64=*/true, [&](Instance &instance) {
    auto contraction = dyn_cast<ContractionOpInterface>(instance.op);
    if (!contraction || contraction.getLetters().window)
      return;
    ++compared;
    SmallVector<SmallVector<HostTensor>> operands;
    HostTensor expected(cast<RankedTensorType>(instance.op->getResult(0).getType()));
    for (int64_t step = 0; step < steps; ++step) {
      operands.push_back(instance.randomOperands(uint32_t(step)));
      HostTensor term = evaluateOp(instance.op, operands.back())[0];
      for (int64_t i = 0; i < expected.size(); ++i)
        expected.setFloat(i, (step ? expected.getFloat(i) : 0) + term.getFloat(i));
    }
    Block block;
    OpBuilder b(instance.op->getContext());
    b.setInsertionPointToEnd(&block);
    Evaluation evaluation;
    for (unsigned i : {0u, 1u}) {
      HostTensor stack =
          stackOf(llvm::map_to_vector(operands, [&](const auto &step) { return step[i]; }));
      evaluation.set(block.addArgument(stack.getType(), instance.op->getLoc()), stack);
    }
    Value sum = sumOverSteps(b, instance.op, block.getArgument(0), block.getArgument(1));
    evaluation.run(&block.front());
    ASSERT_EQ(sum.getType(), instance.op->getResult(0).getType());
    expectClose(evaluation.get(sum), expected, 1e-12);
  });
  EXPECT_GT(compared, 0u);
}
