// Optimizer rules: their guarantees to passes, and RMSprop against PyTorch's algorithm.
#include "Instances.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc::test;

TEST_F(Contract, UpdatesKeepEverythingWhereTheStepDoesNotProceed) {
  forEachInstance(/*onlyF64=*/true, [](Instance &instance) {
    auto update = dyn_cast<UpdateOpInterface>(instance.op);
    if (!update)
      return;
    SmallVector<HostTensor> operands = instance.randomOperands(3);
    operands.back().setInt(0, 0);
    SmallVector<HostTensor> results = evaluateOp(instance.op, operands);
    expectClose(results[0], operands[0], 0);
    for (size_t slot = 1; slot < results.size(); ++slot)
      expectClose(results[slot], operands[1 + slot], 0);
  });
}

// Rows of a table that no gradient reaches may be skipped where a rule says so, and only there.
TEST_F(Contract, UpdatesKnowWhetherTheyKeepEverythingWithoutAGradient) {
  forEachInstance(/*onlyF64=*/true, [](Instance &instance) {
    auto update = dyn_cast<UpdateOpInterface>(instance.op);
    if (!update)
      return;
    SmallVector<HostTensor> operands = instance.randomOperands(3);
    for (int64_t i = 0; i < operands[1].size(); ++i)
      operands[1].setFloat(i, 0);
    SmallVector<HostTensor> results = evaluateOp(instance.op, operands);
    bool isKept = true;
    for (size_t r = 0; r < results.size(); ++r)
      isKept &= results[r].bytes() == operands[r ? 1 + r : 0].bytes();
    EXPECT_EQ(update.keepsWithoutGradient(instance.op->getAttrDictionary()), isKept);
  });
}

// An elementwise update decomposes into ops of one element each, and copies of scalars.
TEST_F(Contract, ElementwiseUpdatesTakeNothingOfOtherElements) {
  forEachInstance(/*onlyF64=*/true, [](Instance &instance) {
    auto update = dyn_cast<UpdateOpInterface>(instance.op);
    if (!update)
      return;
    OpBuilder b(instance.op);
    cast<DecomposeOpInterface>(instance.op).decompose(b);
    bool isElementwise = true;
    for (Operation &op : *instance.op->getBlock())
      if (&op != instance.op && !op.hasTrait<OpTrait::IsTerminator>()) {
        auto movement = dyn_cast<MovementOpInterface>(op);
        isElementwise &= op.hasTrait<grad::Pointwise>() || isa<ConstantOp>(op) ||
                         (movement && movement.getResultDims().empty());
      }
    EXPECT_EQ(update.isElementwise(), isElementwise);
  });
}

namespace {
/// The step of torch.optim.RMSprop on one number, following torch/optim/rmsprop.py.
struct TorchRmsprop {
  double lr, alpha, eps, weightDecay, momentum;
  bool centered;
  double squareAvg = 0, gradAvg = 0, buffer = 0;

  double step(double param, double grad) {
    if (weightDecay != 0)
      grad = grad + weightDecay * param;
    squareAvg = squareAvg * alpha + (1 - alpha) * grad * grad; // mul_(alpha).addcmul_(grad, grad)
    double avg;
    if (centered) {
      gradAvg = gradAvg + (1 - alpha) * (grad - gradAvg); // lerp_(grad, 1 - alpha)
      avg = std::sqrt(squareAvg - gradAvg * gradAvg) + eps;
    } else {
      avg = std::sqrt(squareAvg) + eps;
    }
    if (momentum > 0) {
      buffer = buffer * momentum + grad / avg;
      return param - lr * buffer;
    }
    return param - lr * grad / avg;
  }
};
} // namespace

TEST_F(Contract, RmspropIsPyTorchs) {
  for (double momentum : {0.0, 0.9})
    for (bool centered : {false, true})
      for (double l2 : {0.0, 0.1}) {
        int slots = 1 + centered + (momentum > 0);
        std::string names, types = "tensor<f64>, tensor<f64>", results = "tensor<f64>";
        for (int i = 0; i < slots; ++i) {
          types += ", tensor<f64>";
          results += ", tensor<f64>";
        }
        for (int i = 0; i < slots + 4; ++i)
          names += (i ? ", %" : "%") + std::to_string(i);
        std::string text =
            "grad.rmsprop " + names +
            " {alpha = 0.9 : f64, epsilon = 0.001 : f64, momentum = " + std::to_string(momentum) +
            " : f64, l2 = " + std::to_string(l2) + " : f64" + (centered ? ", centered" : "") +
            "} : (" + types + ", tensor<f64>, tensor<i1>) -> (" + results + ")";
        SCOPED_TRACE(text);
        Sample sample{
            text.c_str(), std::vector<SampleOperand>(slots + 3, {"tensor<f64>"}), {"f64"}};
        sample.operands.push_back({"tensor<i1>", Domain::one});
        Instance instance(context, sample, "f64");
        ASSERT_TRUE(instance.op);

        SmallVector<HostTensor> operands = instance.randomOperands(1);
        for (int i = 0; i < slots; ++i)
          operands[2 + i].setFloat(0, 0);
        operands[2 + slots].setFloat(0, 0.01);
        TorchRmsprop torch{0.01, 0.9, 0.001, l2, momentum, centered};
        double expected = operands[0].getFloat(0);
        for (double gradient : {0.5, -1.25, 2.0, 0.125, -0.75}) {
          operands[1].setFloat(0, gradient);
          SmallVector<HostTensor> updated = evaluateOp(instance.op, operands);
          expected = torch.step(expected, gradient);
          EXPECT_NEAR(updated[0].getFloat(0), expected, 1e-12);
          operands[0] = updated[0];
          for (int i = 0; i < slots; ++i)
            operands[2 + i] = updated[1 + i];
        }
      }
}
