// Nodes, attributes and tensors that are added to graphs, as ONNX's format has them.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/DataType.h"
#include "compiler/import/onnx/model/GraphBuilder.h"
#include <gtest/gtest.h>

using namespace gradc;
using llvm::ArrayRef;

namespace {

using Strings = std::vector<std::string>;

template <typename List> auto listOf(const List &list) {
  return std::vector<typename List::value_type>(list.begin(), list.end());
}

TEST(GraphBuilder, NamesANodeAfterItsFirstResult) {
  onnx::GraphProto graph;
  std::string result =
      GraphBuilder(graph, "tie:").add("Split", {"x", "sizes"}, {"a", "b"}).in("own").result();
  EXPECT_EQ(result, "a");
  const onnx::NodeProto &node = graph.node(0);
  EXPECT_EQ(node.op_type(), "Split");
  EXPECT_EQ(node.name(), "tie:a");
  EXPECT_EQ(node.domain(), "own");
  EXPECT_EQ(listOf(node.input()), (Strings{"x", "sizes"}));
  EXPECT_EQ(listOf(node.output()), (Strings{"a", "b"}));
}

TEST(GraphBuilder, WritesAttributesWithTheirTypes) {
  onnx::NodeProto node;
  NodeBuilder(node)
      .set("ratio", 0.5)
      .set("axis", -1)
      .set("to", data_type::INT64)
      .set("mode", "wrap")
      .set("value", scalarOf(2))
      .set("scales", ArrayRef<float>({1, 0.5}))
      .set("perm", ArrayRef<int64_t>({1, 0}))
      .set("xs", Strings{"x", "w"});
  std::vector<int32_t> types;
  Strings names;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    types.push_back(attribute.type());
    names.push_back(attribute.name());
  }
  // AttributeProto's FLOAT, INT, STRING, TENSOR, FLOATS, INTS and STRINGS.
  EXPECT_EQ(types, (std::vector<int32_t>{1, 2, 2, 3, 4, 6, 7, 8}));
  EXPECT_EQ(names, (Strings{"ratio", "axis", "to", "mode", "value", "scales", "perm", "xs"}));
  EXPECT_EQ(node.attribute(0).f(), 0.5);
  EXPECT_EQ(node.attribute(1).i(), -1);
  EXPECT_EQ(node.attribute(2).i(), 7);
  EXPECT_EQ(node.attribute(3).s(), "wrap");
  EXPECT_EQ(node.attribute(4).t().raw_data(), std::string("\0\0\0\x40", 4));
  EXPECT_EQ(listOf(node.attribute(5).floats()), (std::vector<float>{1, 0.5}));
  EXPECT_EQ(listOf(node.attribute(6).ints()), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(listOf(node.attribute(7).strings()), (Strings{"x", "w"}));
}

TEST(GraphBuilder, WritesTensorsAsBytes) {
  onnx::GraphProto graph;
  GraphBuilder builder(graph);
  builder.addInitializer("shape", integersOf({2, -1}));
  builder.addConstant("one", scalarOf(1));
  const onnx::TensorProto &shape = graph.initializer(0);
  EXPECT_EQ(shape.name(), "shape");
  EXPECT_EQ(shape.data_type(), data_type::INT64);
  EXPECT_EQ(listOf(shape.dims()), std::vector<int64_t>{2});
  EXPECT_EQ(shape.raw_data(), std::string("\2\0\0\0\0\0\0\0", 8) + std::string(8, '\xff'));
  const onnx::NodeProto &constant = graph.node(0);
  EXPECT_EQ(constant.op_type(), "Constant");
  EXPECT_EQ(constant.output(0), "one");
  EXPECT_EQ(constant.attribute(0).name(), "value");
  const onnx::TensorProto &one = constant.attribute(0).t();
  EXPECT_EQ(one.data_type(), data_type::FLOAT);
  EXPECT_EQ(one.dims_size(), 0);
  EXPECT_EQ(one.raw_data(), std::string("\0\0\x80\x3f", 4));
  EXPECT_EQ(rawData<uint8_t>(ArrayRef<int64_t>({1, 255})), "\1\xff"); // converted
}

TEST(GraphBuilder, MovesNodesToTheFront) {
  onnx::GraphProto graph;
  GraphBuilder builder(graph);
  for (const char *name : {"a", "b", "c", "d"})
    builder.add("Relu", {"x"}, {name});
  builder.moveToFront(2);
  Strings order;
  for (const onnx::NodeProto &node : graph.node())
    order.push_back(node.name());
  EXPECT_EQ(order, (Strings{"c", "d", "a", "b"}));
}

TEST(GraphBuilder, ChoosesNamesThatNoneHas) {
  onnx::GraphProto graph;
  GraphBuilder builder(graph);
  graph.add_input()->set_name("x");
  builder.addInitializer("w", scalarOf(1));
  builder.add("Split", {"x"}, {"y", "y_1"});
  llvm::StringSet<> taken = definedNames(graph);
  EXPECT_EQ(uniqueName("x", taken), "x_1");
  EXPECT_EQ(uniqueName("x", taken), "x_2");
  EXPECT_EQ(uniqueName("w", taken), "w_1");
  EXPECT_EQ(uniqueName("y", taken), "y_2");
  EXPECT_EQ(uniqueName("free", taken), "free");
  EXPECT_EQ(uniqueName("free", taken), "free_1");
}

} // namespace
