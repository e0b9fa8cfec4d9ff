// Fills messages of ONNX's format.
#include "compiler/import/onnx/model/GraphBuilder.h"

#include "compiler/import/onnx/model/DataType.h"

#include <algorithm>

using namespace gradc;
using llvm::ArrayRef;
using llvm::StringRef;

onnx::TensorProto gradc::tensorOf(int32_t type, ArrayRef<int64_t> shape, std::string bytes) {
  onnx::TensorProto tensor;
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  tensor.set_raw_data(std::move(bytes));
  return tensor;
}

onnx::TensorProto gradc::integersOf(ArrayRef<int64_t> values) {
  return tensorOf(data_type::INT64, {int64_t(values.size())}, rawData<int64_t>(values));
}

onnx::TensorProto gradc::scalarOf(float value) {
  return tensorOf(data_type::FLOAT, {}, rawData<float>(ArrayRef(value)));
}

NodeBuilder &NodeBuilder::in(StringRef domain) {
  node.set_domain(domain.str());
  return *this;
}

onnx::AttributeProto &NodeBuilder::attribute(StringRef name, AttributeType type) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(int32_t(type));
  return attribute;
}

NodeBuilder &NodeBuilder::set(StringRef name, int64_t value) {
  attribute(name, AttributeType::integer).set_i(value);
  return *this;
}

NodeBuilder &NodeBuilder::set(StringRef name, double value) {
  attribute(name, AttributeType::real).set_f(float(value));
  return *this;
}

NodeBuilder &NodeBuilder::set(StringRef name, StringRef text) {
  attribute(name, AttributeType::string).set_s(text.str());
  return *this;
}

NodeBuilder &NodeBuilder::set(StringRef name, onnx::TensorProto value) {
  *attribute(name, AttributeType::tensor).mutable_t() = std::move(value);
  return *this;
}

NodeBuilder &NodeBuilder::set(StringRef name, ArrayRef<float> values) {
  attribute(name, AttributeType::reals).mutable_floats()->Add(values.begin(), values.end());
  return *this;
}

NodeBuilder &NodeBuilder::set(StringRef name, ArrayRef<int64_t> values) {
  attribute(name, AttributeType::integers).mutable_ints()->Add(values.begin(), values.end());
  return *this;
}

NodeBuilder &NodeBuilder::set(StringRef name, const std::vector<std::string> &texts) {
  attribute(name, AttributeType::strings).mutable_strings()->Add(texts.begin(), texts.end());
  return *this;
}

NodeBuilder GraphBuilder::add(StringRef op, ArrayRef<std::string> inputs,
                              ArrayRef<std::string> outputs) {
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(op.str());
  node.set_name(nodePrefix + outputs.front());
  node.mutable_input()->Add(inputs.begin(), inputs.end());
  node.mutable_output()->Add(outputs.begin(), outputs.end());
  return NodeBuilder(node);
}

void GraphBuilder::addInitializer(const std::string &name, onnx::TensorProto value) {
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor = std::move(value);
  tensor.set_name(name);
}

void GraphBuilder::addConstant(const std::string &name, onnx::TensorProto value) {
  add("Constant", {}, {name}).set("value", std::move(value));
}

void GraphBuilder::moveToFront(int first) { moveBehind(-1, first); }

void GraphBuilder::moveBehind(int position, int first) {
  auto &nodes = *graph.mutable_node();
  std::rotate(nodes.pointer_begin() + position + 1, nodes.pointer_begin() + first,
              nodes.pointer_end());
}

llvm::StringSet<> gradc::definedNames(const onnx::GraphProto &graph) {
  llvm::StringSet<> names;
  for (const onnx::ValueInfoProto &input : graph.input())
    names.insert(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    names.insert(tensor.name());
  for (const onnx::NodeProto &node : graph.node())
    names.insert_range(node.output());
  return names;
}

std::string gradc::uniqueName(const std::string &name, llvm::StringSet<> &taken) {
  std::string unique = name;
  for (int i = 1; !taken.insert(unique).second; ++i)
    unique = name + "_" + std::to_string(i);
  return unique;
}
