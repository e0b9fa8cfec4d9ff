// Running statistics: which entries update them, what freezes them, and those that the graph of an
// exported module computes or updates by itself.
#include "dialects/Pch.h"

#include "compiler/Interpreter.h"
#include "compiler/import/onnx/model/OnnxModel.h"
#include "dialects/grad/Grad.h"
#include "test/unit/compiler/import/TrainingTesting.h"

#include <cmath>

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

class StatisticsTest : public TrainingTesting {
protected:
  /// Arguments of an entry whose first is x [4, 4], numbers 0.1 apart; the others are 0.
  static std::vector<HostTensor> arguments(func::FuncOp entry) {
    std::vector<HostTensor> made;
    for (Type type : entry.getArgumentTypes())
      made.emplace_back(cast<RankedTensorType>(type));
    for (int i = 0; i < 16; ++i)
      made[0].setFloat(i, 0.1 * i);
    return made;
  }
};

TEST_F(StatisticsTest, UpdatesRunningStatisticsInTrainingOnly) {
  Parts parts;
  parts.model = "model: \"normalized.onnx\"";
  parts.rest = evaluation;
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported),
            (std::vector<std::string>{"norm.weight", "norm.bias", "fc.weight"}));
  EXPECT_EQ(count<WriteOp>(function(*imported, "evaluate")), 0);
  EXPECT_EQ(count<WriteOp>(function(*imported, "forward")), 0);
  EXPECT_EQ(count<WriteOp>(function(*imported, "train.tail")), 2);
  EXPECT_EQ(imported->module->lookupSymbol<StateOp>("norm.running_var").getKind(),
            StateKind::statistic);

  func::FuncOp train = function(*imported, "train");
  ASSERT_EQ(count<WriteOp>(train), 2);
  Interpreter interpreter(*imported->module);
  interpreter.run(train, arguments(train));
  // Four rows 0.4 apart: variance 0.2, 0.2 * 4/3 without bias; momentum is 0.75.
  for (int c = 0; c < 4; ++c) {
    EXPECT_NEAR(interpreter.state("norm.running_mean").getFloat(c),
                0.75 * 0.5 + 0.25 * (0.6 + 0.1 * c), 1e-6);
    EXPECT_NEAR(interpreter.state("norm.running_var").getFloat(c), 0.75 + 0.25 * 0.8 / 3, 1e-6);
  }
}

/// One module in two places updates its statistics twice.
TEST_F(StatisticsTest, UpdatesSharedStatisticsInOrder) {
  Parts parts;
  parts.model = "model: \"normalized-twice.onnx\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  func::FuncOp train = function(*imported, "train");
  EXPECT_EQ(count<WriteOp>(train), 2);
  Interpreter interpreter(*imported->module);
  interpreter.run(train, arguments(train));
  // The normalized values have mean 0 the second time.
  EXPECT_NEAR(interpreter.state("norm.running_mean").getFloat(0), 0.75 * (0.75 * 0.5 + 0.25 * 0.6),
              1e-6);
}

TEST_F(StatisticsTest, KeepsFrozenStatistics) {
  Parts parts;
  parts.model = "model: \"normalized.onnx\"";
  parts.rest = "freeze: \"norm.running_*\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  func::FuncOp train = function(*imported, "train");
  EXPECT_EQ(count<WriteOp>(train) + count<NormalizeOp>(train), 0);
  EXPECT_EQ(imported->module->lookupSymbol<StateOp>("norm.running_var").getKind(),
            StateKind::constant);
}

TEST_F(StatisticsTest, RefusesStatisticsThatCannotBeUpdated) {
  Parts parts;
  parts.model = "model: \"normalized-constant.onnx\"";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected an initializer as running statistic, found operand 3 (\"mean\", f32 [4])"});
}

TEST_F(StatisticsTest, RefusesStatisticsMergedWithParameters) {
  Parts parts;
  parts.model = "model: \"normalized-merged.onnx\"";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected a running statistic of its own, found operand 3 (\"norm.copy\", f32 [4]), "
              "which is also operand 2 of BatchNormalization \"norm\"; export the model without "
              "merging equal initializers"});
}

TEST_F(StatisticsTest, RefusesABatchOfOneElementAChannel) {
  Parts parts;
  parts.model = "model: \"normalized.onnx\"";
  parts.batch = "stage { batch { size: 3 } }";
  EXPECT_TRUE(failed(training(parts)));
  expectSaid({"expected more than one element a channel in training, found operand 0 (\"x\", f32 "
              "[1, 4])\n  note: for the last batch, which has 1 of 3 rows"});
}

/// Of a layer without running statistics, which the exporter computes from the batch: evaluations
/// normalize by theirs, too.
TEST_F(StatisticsTest, TakesStatisticsThatTheGraphComputes) {
  Parts parts;
  parts.model = "model: \"normalized-computed.onnx\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported),
            (std::vector<std::string>{"norm.weight", "norm.bias", "fc.weight"}));
  EXPECT_EQ(count<WriteOp>(function(*imported, "train")), 0);
  func::FuncOp forward = function(*imported, "forward");
  Interpreter interpreter(*imported->module);
  auto results = interpreter.run(forward, arguments(forward));
  for (int row = 0; row < 4; ++row)
    for (int c = 0; c < 3; ++c)
      EXPECT_NEAR(results[0].getFloat(row * 3 + c),
                  (0.4 * row - 0.6) / std::sqrt(0.2 + 1e-5) * (1.8 + 0.4 * c), 1e-5);
}

/// A module's own average, which PyTorch's exporter records as the new value of a buffer.
TEST_F(StatisticsTest, StoresWhatTheModuleStoresInBuffers) {
  Parts parts;
  parts.model = "model: \"averaged.onnx\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(trained(*imported), (std::vector<std::string>{"gain", "fc.weight"}));
  EXPECT_EQ(count<WriteOp>(function(*imported, "forward")), 0);
  EXPECT_EQ(count<StraightThroughOp>(function(*imported, "forward")), 0);
  EXPECT_EQ(imported->module->lookupSymbol<StateOp>("average").getKind(), StateKind::statistic);
  func::FuncOp train = function(*imported, "train");
  EXPECT_EQ(count<WriteOp>(train), 1);
  EXPECT_EQ(count<StraightThroughOp>(train), 1); // gradients stop there
  Interpreter interpreter(*imported->module);
  interpreter.run(train, arguments(train));
  for (int c = 0; c < 4; ++c)
    EXPECT_NEAR(interpreter.state("average").getFloat(c), 0.75 * 0.5 + 0.25 * (0.6 + 0.1 * c),
                1e-6);
}

TEST_F(StatisticsTest, KeepsFrozenBuffers) {
  Parts parts;
  parts.model = "model: \"averaged.onnx\"";
  parts.rest = "freeze: \"average\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  EXPECT_EQ(count<WriteOp>(function(*imported, "train")), 0);
  EXPECT_EQ(imported->module->lookupSymbol<StateOp>("average").getKind(), StateKind::constant);
}

} // namespace
