// Adds nodes and initializers, and remembers the names that the graph had before.
#include "dialects/Pch.h"

#include "compiler/import/transfer/QuantizedGraph.h"

#include "compiler/import/onnx/DataType.h"
#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/Quantization.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

QuantizedGraph::QuantizedGraph(onnx::GraphProto &graph, const QuantizedLayers &layers,
                               const spec::Quantize &how)
    : graph(graph), layers(layers), how(how) {
  for (const onnx::ValueInfoProto &input : graph.input())
    taken.insert(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    taken.insert(tensor.name());
  for (const onnx::NodeProto &node : graph.node())
    taken.insert_range(node.output());
}

onnx::NodeProto &QuantizedGraph::add(StringRef op, const Names &inputs, const Names &outputs) {
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(op.str());
  node.set_name(quantizationPrefix.str() + outputs.front());
  for (const std::string &input : inputs)
    node.add_input(input);
  for (const std::string &output : outputs) {
    define(output);
    node.add_output(output);
  }
  return node;
}

onnx::NodeProto &QuantizedGraph::addOwn(StringRef op, const Names &inputs, const Names &outputs) {
  onnx::NodeProto &node = add(op, inputs, outputs);
  node.set_domain("gradc");
  return node;
}

void QuantizedGraph::set(onnx::NodeProto &node, StringRef name, int64_t value) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(int32_t(Node::AttributeType::integer));
  attribute.set_i(value);
}

void QuantizedGraph::set(onnx::NodeProto &node, StringRef name, double value) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(int32_t(Node::AttributeType::real));
  attribute.set_f(float(value));
}

static void setValue(onnx::TensorProto &tensor, int32_t type, ArrayRef<int64_t> shape,
                     std::string bytes) {
  tensor.set_data_type(type);
  for (int64_t dim : shape)
    tensor.add_dims(dim);
  tensor.set_raw_data(std::move(bytes));
}

void QuantizedGraph::addInitializer(const std::string &name, int32_t type, ArrayRef<int64_t> shape,
                                    std::string bytes) {
  define(name);
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  setValue(tensor, type, shape, std::move(bytes));
}

void QuantizedGraph::addConstant(const std::string &name, int32_t type, ArrayRef<int64_t> shape,
                                 std::string bytes) {
  onnx::AttributeProto &attribute = *add("Constant", {}, {name}).add_attribute();
  attribute.set_name("value");
  attribute.set_type(int32_t(Node::AttributeType::tensor));
  setValue(*attribute.mutable_t(), type, shape, std::move(bytes));
}

void QuantizedGraph::addZeros(const std::string &name, int32_t type, ArrayRef<int64_t> shape) {
  size_t width = type == INT8 || type == UINT8 ? 1 : sizeof(float);
  addInitializer(name, type, shape, std::string(size_t(llvm::product_of(shape)) * width, '\0'));
}

/// Rounds `value`, along `axis`, to a weight's codes and back.
void QuantizedGraph::addRounding(const std::string &value, const WeightNames &names, int axis,
                                 const std::string &codes, const std::string &result) {
  set(add("QuantizeLinear", {value, names.scale, names.zero}, {codes}), "axis", int64_t(axis));
  set(add("DequantizeLinear", {codes, names.scale, names.zero}, {result}), "axis", int64_t(axis));
}

void QuantizedGraph::run() {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Swap(graph.mutable_node());
  llvm::StringMap<const QuantizedWeight *> byName;
  for (const QuantizedWeight &weight : layers.weights)
    byName[weight.name] = &weight;
  for (onnx::NodeProto &node : nodes) {
    if (isDropped(node))
      continue;
    StringRef output = node.output_size() ? StringRef(node.output(0)) : StringRef();
    for (int i : layers.operands.lookup(output))
      node.set_input(i, once(node.input(i), node.input(i)));
    for (std::string &input : *node.mutable_input())
      if (const QuantizedWeight *weight = byName.lookup(input))
        input = once(weight->name, *weight);
    if (const QuantizedWeight *weight = layers.weightOf(output))
      addLayer(node, *weight);
    else
      graph.add_node()->Swap(&node);
  }
}
