// Gradients as numbers: whole programs against directional differences, nested requests, and reach.
#include "dialects/grad/Grad.h"
#include "passes/Passes.h"
#include "passes/training/Reach.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::grad;

namespace {

class Differentiate : public testing::Test {
protected:
  Differentiate() {
    DialectRegistry registry;
    registry.insert<GradDialect, func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  void parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    function = *module->getOps<func::FuncOp>().begin();
  }
  void differentiate() {
    PassManager passes(&context);
    passes.addPass(gradc::createDifferentiate());
    ASSERT_TRUE(succeeded(passes.run(*module)));
  }
  /// The function's results for `arguments`.
  std::vector<HostTensor> run(ArrayRef<HostTensor> arguments) {
    DenseMap<Value, HostTensor> values;
    for (auto [argument, tensor] : llvm::zip_equal(function.getArguments(), arguments))
      values[argument] = tensor;
    std::vector<HostTensor> results;
    for (Operation &op : function.front()) {
      SmallVector<HostTensor> operands;
      for (Value operand : op.getOperands())
        operands.push_back(values[operand]);
      if (isa<func::ReturnOp>(op))
        return {operands.begin(), operands.end()};
      for (auto [result, tensor] : llvm::zip_equal(op.getResults(), evaluateOp(&op, operands)))
        values[result] = tensor;
    }
    return results;
  }
  /// Numbers in [-1, 1] that only depend on `seed`.
  HostTensor numbers(ArrayRef<int64_t> shape, int seed) {
    HostTensor tensor(RankedTensorType::get(shape, Float64Type::get(&context)));
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.setFloat(i, std::sin(1.7 * i + 12.3 * seed + 0.5));
    return tensor;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};

HostTensor moved(HostTensor x, const HostTensor &direction, double t) {
  for (int64_t i = 0; i < x.size(); ++i)
    x.setFloat(i, x.getFloat(i) + t * direction.getFloat(i));
  return x;
}

double dot(const HostTensor &a, const HostTensor &b) {
  double sum = 0;
  for (int64_t i = 0; i < a.size(); ++i)
    sum += a.getFloat(i) * b.getFloat(i);
  return sum;
}

} // namespace

TEST_F(Differentiate, NestedRequestsGiveHigherDerivatives) {
  parse(R"(func.func @f(%x: tensor<f64>) -> (tensor<f64>, tensor<f64>, tensor<f64>) {
    %0 = grad.mul %x, %x : tensor<f64>
    %1 = grad.mul %0, %0 : tensor<f64>
    %2 = grad.gradient %1 wrt %x : tensor<f64>, tensor<f64>
    %3 = grad.gradient %2 wrt %x : tensor<f64>, tensor<f64>
    %4 = grad.gradient %3 wrt %x : tensor<f64>, tensor<f64>
    return %2, %3, %4 : tensor<f64>, tensor<f64>, tensor<f64>
  })");
  differentiate();
  HostTensor x(RankedTensorType::get({}, Float64Type::get(&context)));
  x.setFloat(0, 2);
  std::vector<HostTensor> results = run(x);
  EXPECT_EQ(results[0].getFloat(0), 32);
  EXPECT_EQ(results[1].getFloat(0), 48);
  EXPECT_EQ(results[2].getFloat(0), 48);
}

TEST_F(Differentiate, NetworkMatchesDirectionalDifferences) {
  parse(
      R"(func.func @f(%x: tensor<3x4xf64>, %w: tensor<4x5xf64>, %b: tensor<5xf64>, %y: tensor<3x5xf64>)
      -> (tensor<f64>, tensor<3x4xf64>, tensor<4x5xf64>, tensor<5xf64>, tensor<3x5xf64>) {
    %0 = grad.matmul %x, %w : tensor<3x4xf64>, tensor<4x5xf64>
    %1 = grad.broadcast %b dims [1] : tensor<5xf64> -> tensor<3x5xf64>
    %2 = grad.add %0, %1 : tensor<3x5xf64>
    %3 = grad.gelu %2 : tensor<3x5xf64>
    %4 = grad.mul %3, %2 : tensor<3x5xf64>
    %5 = grad.softmax_cross_entropy %4, %y : tensor<3x5xf64>, tensor<3x5xf64>
    %6 = grad.reduce_mean %5 dims [0] : tensor<3xf64>
    %7:4 = grad.gradient %6 wrt %x, %w, %b, %y : tensor<f64>, tensor<3x4xf64>, tensor<4x5xf64>, tensor<5xf64>, tensor<3x5xf64>
    return %6, %7#0, %7#1, %7#2, %7#3 : tensor<f64>, tensor<3x4xf64>, tensor<4x5xf64>, tensor<5xf64>, tensor<3x5xf64>
  })");
  differentiate();
  std::vector<HostTensor> at = {numbers({3, 4}, 1), numbers({4, 5}, 2), numbers({5}, 3),
                                numbers({3, 5}, 4)};
  std::vector<HostTensor> results = run(at);
  for (size_t which = 0; which < at.size(); ++which) {
    HostTensor direction = numbers(at[which].getShape(), 5);
    auto loss = [&](double t) {
      std::vector<HostTensor> there = at;
      there[which] = moved(at[which], direction, t);
      return run(there)[0].getFloat(0);
    };
    double numeric = (loss(1e-6) - loss(-1e-6)) / 2e-6;
    EXPECT_NEAR(dot(results[which + 1], direction), numeric, 1e-8) << "argument " << which;
    EXPECT_GT(std::abs(numeric), 1e-3) << "the check would pass with zeros";
  }
}

// The gradient of softmax_cross_entropy_grad comes from its decomposition.
TEST_F(Differentiate, HessianTimesVectorMatchesDifferencesOfGradients) {
  parse(R"(func.func @f(%x: tensor<3x5xf64>, %v: tensor<3x5xf64>, %y: tensor<3xi32>)
      -> (tensor<3x5xf64>, tensor<3x5xf64>) {
    %0 = grad.softmax_cross_entropy %x, %y : tensor<3x5xf64>, tensor<3xi32>
    %1 = grad.mul %0, %0 : tensor<3xf64>
    %2 = grad.reduce_sum %1 dims [0] : tensor<3xf64>
    %3 = grad.gradient %2 wrt %x : tensor<f64>, tensor<3x5xf64>
    %4 = grad.mul %3, %v : tensor<3x5xf64>
    %5 = grad.reduce_sum %4 dims [0, 1] : tensor<3x5xf64>
    %6 = grad.gradient %5 wrt %x : tensor<f64>, tensor<3x5xf64>
    return %3, %6 : tensor<3x5xf64>, tensor<3x5xf64>
  })");
  differentiate();
  HostTensor x = numbers({3, 5}, 1), v = numbers({3, 5}, 2);
  HostTensor y(RankedTensorType::get({3}, IntegerType::get(&context, 32)));
  y.setInt(0, 4);
  y.setInt(1, 2);
  HostTensor product = run({x, v, y})[1];
  HostTensor above = run({moved(x, v, 1e-6), v, y})[0], below = run({moved(x, v, -1e-6), v, y})[0];
  for (int64_t i = 0; i < product.size(); ++i)
    EXPECT_NEAR(product.getFloat(i), (above.getFloat(i) - below.getFloat(i)) / 2e-6, 1e-8);
}

TEST_F(Differentiate, ReachNamesTheOpInTheWay) {
  parse(R"(func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: tensor<4xf32>, %d: tensor<4xf32>,
      %lr: tensor<f32>, %go: tensor<i1>) -> tensor<f32> {
    %0 = grad.floor %b : tensor<4xf32>
    %1 = grad.cast %0 : tensor<4xf32> -> tensor<4xi32>
    %2 = grad.cast %1 : tensor<4xi32> -> tensor<4xf32>
    %3 = grad.sgd %c, %c, %lr, %go : tensor<4xf32>, tensor<f32>
    %4 = grad.add %a, %2 : tensor<4xf32>
    %5 = grad.add %4, %3 : tensor<4xf32>
    %6 = grad.reduce_sum %5 dims [0] : tensor<4xf32>
    return %6 : tensor<f32>
  })");
  Value loss = function.front().getTerminator()->getOperand(0);
  size_t before = std::distance(function.front().begin(), function.front().end());
  SmallVector<gradc::Reach> reach = gradc::findReach(loss, function.getArguments().take_front(4));
  EXPECT_EQ(reach[0].arrival, gradc::Arrival::arrives);
  EXPECT_EQ(reach[1].arrival, gradc::Arrival::stopped);
  EXPECT_TRUE(isa<CastOp>(reach[1].op));
  EXPECT_EQ(reach[2].arrival, gradc::Arrival::missing);
  EXPECT_TRUE(isa<SgdOp>(reach[2].op));
  EXPECT_EQ(reach[3].arrival, gradc::Arrival::unconnected);
  EXPECT_EQ(size_t(std::distance(function.front().begin(), function.front().end())), before)
      << "asking changes no IR";
}
