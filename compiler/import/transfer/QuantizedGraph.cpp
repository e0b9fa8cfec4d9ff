// Adds nodes and initializers, and remembers the names that the graph had before.
#include "dialects/Pch.h"

#include "compiler/import/transfer/QuantizedGraph.h"

#include "compiler/import/onnx/model/DataType.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"

using namespace mlir;
using namespace gradc;
using namespace gradc::data_type;

QuantizedGraph::QuantizedGraph(onnx::GraphProto &graph, const QuantizedLayers &layers,
                               const spec::Quantize &how)
    : graph(graph), layers(layers), how(how), taken(definedNames(graph)),
      builder(graph, quantizationPrefix) {}

NodeBuilder QuantizedGraph::add(StringRef op, ArrayRef<std::string> inputs,
                                ArrayRef<std::string> outputs) {
  for (const std::string &output : outputs)
    define(output);
  return builder.add(op, inputs, outputs);
}

void QuantizedGraph::addConstant(const std::string &name, onnx::TensorProto value) {
  define(name);
  builder.addConstant(name, std::move(value));
}

void QuantizedGraph::addZeros(const std::string &name, int32_t type, ArrayRef<int64_t> shape) {
  define(name);
  size_t width = type == INT8 || type == UINT8 ? 1 : sizeof(float);
  std::string zeros(size_t(llvm::product_of(shape)) * width, '\0');
  builder.addInitializer(name, tensorOf(type, shape, std::move(zeros)));
}

/// Rounds `value`, along `axis`, to a weight's codes and back.
void QuantizedGraph::addRounding(const std::string &value, const WeightNames &names, int axis,
                                 const std::string &codes, const std::string &result) {
  add("QuantizeLinear", {value, names.scale, names.zero}, {codes}).set("axis", axis);
  add("DequantizeLinear", {codes, names.scale, names.zero}, {result}).set("axis", axis);
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
