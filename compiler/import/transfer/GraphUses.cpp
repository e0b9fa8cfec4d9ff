// Indexes a graph by the names of its values.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/DataType.h"
#include "compiler/import/onnx/model/GraphOrder.h"
#include "compiler/import/transfer/GraphUses.h"

using namespace mlir;
using namespace gradc;

GraphUses::GraphUses(const onnx::GraphProto &graph) {
  for (const onnx::TensorProto &tensor : graph.initializer())
    initializers[tensor.name()] = &tensor;
  for (const onnx::ValueInfoProto &output : graph.output())
    outputs[output.name()] = true;
  for (const onnx::NodeProto &node : graph.node()) {
    for (const std::string &output : node.output())
      producers[output] = &node;
    if (node.output().empty())
      continue;
    for (auto [i, input] : llvm::enumerate(node.input()))
      if (!input.empty())
        uses[input].push_back({&node, int(i)});
    for (const std::string &name : namesRead(node))
      if (!llvm::is_contained(node.input(), name))
        uses[name].push_back({&node, -1});
  }
}

ArrayRef<ValueUse> GraphUses::of(StringRef value) const {
  auto found = uses.find(value);
  return found == uses.end() ? ArrayRef<ValueUse>() : ArrayRef<ValueUse>(found->second);
}

const onnx::TensorProto *GraphUses::constant(StringRef value) const {
  const onnx::NodeProto *node = producer(value);
  if (!node || node->op_type() != "Constant")
    return initializer(value);
  const onnx::AttributeProto *tensor = findAttribute(*node, "value");
  return tensor ? &tensor->t() : nullptr;
}

std::optional<SmallVector<int64_t>> GraphUses::integers(StringRef value) const {
  if (const onnx::NodeProto *node = producer(value); node && node->op_type() == "Constant")
    if (const onnx::AttributeProto *numbers = findAttribute(*node, "value_ints"))
      return SmallVector<int64_t>(numbers->ints().begin(), numbers->ints().end());
  const onnx::TensorProto *tensor = constant(value);
  if (!tensor || tensor->data_type() != data_type::INT64)
    return std::nullopt;
  SmallVector<int64_t> numbers(tensor->raw_data().size() / sizeof(int64_t));
  std::memcpy(numbers.data(), tensor->raw_data().data(), numbers.size() * sizeof(int64_t));
  return numbers;
}

bool gradc::isMatrixTranspose(const onnx::NodeProto &node) {
  if (node.op_type() != "Transpose")
    return false;
  const onnx::AttributeProto *order = findAttribute(node, "perm");
  return !order || (order->ints_size() == 2 && order->ints(0) == 1 && order->ints(1) == 0);
}
