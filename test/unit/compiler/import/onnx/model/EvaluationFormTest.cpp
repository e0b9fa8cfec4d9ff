// Exports of models that the exporter left in training mode.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/EvaluationForm.h"
#include "compiler/import/onnx/model/GraphBuilder.h"
#include "dialects/grad/Grad.h"
#include "test/unit/compiler/import/TrainingTesting.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {

using EvaluationFormTest = TrainingTesting;

TEST_F(EvaluationFormTest, IsWhatATrainerExports) {
  Parts parts;
  parts.model = "model: \"left-in-training.onnx\"";
  auto imported = training(parts);
  ASSERT_TRUE(succeeded(imported)) << everything();
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(imported->modelBytes));
  const onnx::GraphProto &graph = proto.graph();
  const onnx::NodeProto &norm = graph.node(0), &drop = graph.node(1);
  EXPECT_EQ(norm.attribute(0).name(), "training_mode");
  EXPECT_EQ(norm.attribute(0).i(), 0);
  EXPECT_EQ(norm.output_size(), 1);
  EXPECT_EQ(drop.input_size(), 2);
  EXPECT_EQ(drop.output_size(), 1);
  for (const onnx::TensorProto &tensor : graph.initializer())
    EXPECT_NE(tensor.name(), "mode");
  // The positions of initializers refer to the new bytes.
  std::vector<std::string> states;
  for (const InitializerRange &range : imported->ranges) {
    for (const onnx::TensorProto &tensor : graph.initializer())
      if (tensor.name() == range.state) {
        EXPECT_EQ(tensor.raw_data(),
                  StringRef(imported->modelBytes).substr(range.offset, range.bytes).str());
        states.push_back(range.state);
      }
  }
  EXPECT_TRUE(llvm::is_contained(states, "norm.running_mean"));
  EXPECT_TRUE(llvm::is_contained(states, "fc.weight"));
}

TEST_F(EvaluationFormTest, LeavesStatisticsThatAreRead) {
  onnx::GraphProto graph;
  GraphBuilder(graph)
      .add("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "m2", "v2"})
      .set("training_mode", 1);
  const onnx::NodeProto &norm = graph.node(0);
  graph.add_output()->set_name("v2");
  EXPECT_FALSE(makeEvaluationForm(graph));
  EXPECT_EQ(norm.output_size(), 3);
  EXPECT_EQ(norm.attribute(0).i(), 1);
}

TEST_F(EvaluationFormTest, DropsOutputsOfOldOpsets) {
  onnx::GraphProto graph;
  GraphBuilder(graph).add("BatchNormalization", {"x", "s", "b", "m", "v"},
                          {"y", "m2", "v2", "m3", "v3"});
  graph.add_output()->set_name("y");
  EXPECT_TRUE(makeEvaluationForm(graph));
  EXPECT_EQ(graph.node(0).output_size(), 1);
}

TEST_F(EvaluationFormTest, KeepsAModeThatOthersRead) {
  onnx::GraphProto graph;
  GraphBuilder builder(graph);
  builder.add("Constant", {}, {"mode"});
  builder.add("Dropout", {"x", "", "mode"}, {"y", "mask"});
  builder.add("Not", {"mode"}, {"z"});
  for (const char *name : {"y", "mask", "z"})
    graph.add_output()->set_name(name);
  EXPECT_TRUE(makeEvaluationForm(graph));
  ASSERT_EQ(graph.node_size(), 3);
  EXPECT_EQ(graph.node(1).input_size(), 1);
  EXPECT_EQ(graph.node(1).output_size(), 2);
}

TEST_F(EvaluationFormTest, RemovesAModeOfItsOwn) {
  onnx::GraphProto graph;
  GraphBuilder builder(graph);
  builder.add("Constant", {}, {"mode"});
  builder.add("Dropout", {"x", "ratio", "mode"}, {"y"});
  graph.add_output()->set_name("y");
  EXPECT_TRUE(makeEvaluationForm(graph));
  ASSERT_EQ(graph.node_size(), 1);
  EXPECT_EQ(graph.node(0).input_size(), 2);
}

} // namespace
