// Follows values back to the nodes, inputs and initializers that decide.
#include "dialects/Pch.h"

#include "compiler/import/transfer/GraphValues.h"

#include "compiler/import/onnx/model/DataType.h"

using namespace mlir;
using namespace gradc;

bool gradc::isZero(const GraphUses &uses, std::string value) {
  constexpr int most = 8; // nodes that repeat or cast it
  for (int i = 0; i < most; ++i) {
    const onnx::TensorProto *tensor = uses.initializer(value);
    if (tensor && tensor->dims_size() > 0)
      return false;
    const onnx::NodeProto *node = uses.producer(value);
    if (node && node->op_type() == "Constant")
      if (const onnx::AttributeProto *constant = findAttribute(*node, "value"))
        tensor = &constant->t();
    if (tensor)
      return tensor->data_type() == data_type::FLOAT &&
             llvm::all_of(tensor->raw_data(), [](char byte) { return byte == 0; });
    static const llvm::StringSet<> keepers = {"Expand", "Cast", "CastLike", "Identity", "Reshape"};
    if (!node || !keepers.contains(node->op_type()) || node->input_size() == 0)
      return false;
    value = node->input(0);
  }
  return false;
}

bool gradc::isFloat(const GraphUses &uses, const onnx::GraphProto &graph, std::string value) {
  static const llvm::StringSet<> integers = {
      "Shape", "Size",    "ArgMax", "ArgMin",      "NonZero", "NonMaxSuppression",
      "Equal", "Greater", "Less",   "LessOrEqual", "Not",     "GreaterOrEqual",
      "And",   "Or",      "Xor",    "IsNaN",       "IsInf",   "QuantizeLinear",
      "OneHot"};
  static const llvm::StringSet<> followers = {"Gather",    "GatherND",  "GatherElements",
                                              "Slice",     "Concat",    "Squeeze",
                                              "Unsqueeze", "Reshape",   "Flatten",
                                              "Identity",  "Transpose", "Expand",
                                              "Tile",      "Split",     "Add",
                                              "Sub",       "Mul",       "Div",
                                              "Mod",       "Neg",       "Abs",
                                              "Max",       "Min",       "Pad",
                                              "Range",     "ReduceSum", "ReduceProd",
                                              "ReduceMax", "ReduceMin"};
  for (int steps = 0; steps <= graph.node_size(); ++steps) { // a damaged graph may have cycles
    if (const onnx::TensorProto *tensor = uses.initializer(value))
      return tensor->data_type() == data_type::FLOAT;
    const onnx::NodeProto *node = uses.producer(value);
    if (!node) {
      auto input = llvm::find_if(graph.input(), [&](const auto &i) { return i.name() == value; });
      return input != graph.input().end() &&
             input->type().tensor_type().elem_type() == data_type::FLOAT;
    }
    const onnx::AttributeProto *constant = findAttribute(*node, "value");
    if (node->op_type() == "Constant" || node->op_type() == "ConstantOfShape")
      return !constant || constant->t().data_type() == data_type::FLOAT;
    if (node->op_type() == "Cast")
      return integerAttribute(*node, "to", data_type::FLOAT) == data_type::FLOAT;
    if (integers.contains(node->op_type()))
      return false;
    if (!followers.contains(node->op_type()) || node->input_size() == 0)
      return true;
    value = node->input(0);
  }
  return false;
}
