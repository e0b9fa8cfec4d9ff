// Rewrites the nodes that compute something else in training; all other nodes stay in place.
#include "compiler/import/onnx/model/EvaluationForm.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

using namespace gradc;

namespace {

class Rewriter {
public:
  explicit Rewriter(onnx::GraphProto &graph) : graph(graph) {
    for (const onnx::ValueInfoProto &output : graph.output())
      read.insert(output.name());
    for (const onnx::NodeProto &node : graph.node())
      for (const std::string &input : node.input())
        read.insert(input);
  }

  bool run() {
    for (onnx::NodeProto &node : *graph.mutable_node()) {
      if (!node.domain().empty() && node.domain() != "ai.onnx")
        continue;
      if (node.op_type() == "BatchNormalization")
        rewriteBatchNormalization(node);
      else if (node.op_type() == "Dropout")
        rewriteDropout(node);
    }
    for (const std::string &name : dropped)
      removeUnlessRead(name);
    return changed;
  }

private:
  bool isRead(const onnx::NodeProto &node, int output) const {
    return output < node.output_size() && read.contains(node.output(output));
  }

  /// Drops outputs that exporters name but nothing reads. Up to opset 13, more than one output
  /// means training.
  void dropUnreadOutputs(onnx::NodeProto &node) {
    while (node.output_size() > 1 && !isRead(node, node.output_size() - 1)) {
      node.mutable_output()->RemoveLast();
      changed = true;
    }
  }

  void rewriteBatchNormalization(onnx::NodeProto &node) {
    if (isRead(node, 1) || isRead(node, 2))
      return;
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.name() == "training_mode" && attribute.i() != 0) {
        attribute.set_i(0);
        changed = true;
      }
    dropUnreadOutputs(node);
  }

  void rewriteDropout(onnx::NodeProto &node) {
    dropUnreadOutputs(node);
    if (node.input_size() < 3)
      return;
    dropped.push_back(node.input(2));
    node.mutable_input()->RemoveLast();
    if (node.input(1).empty())
      node.mutable_input()->RemoveLast();
    changed = true;
  }

  /// Removes a training_mode that was stored in an initializer or constant of its own.
  void removeUnlessRead(const std::string &name) {
    auto reads = [&](const onnx::NodeProto &node) {
      return llvm::is_contained(node.input(), name);
    };
    auto named = [&](const auto &value) { return value.name() == name; };
    auto makes = [&](const onnx::NodeProto &node) {
      return node.op_type() == "Constant" && node.output_size() == 1 && node.output(0) == name;
    };
    if (name.empty() || llvm::any_of(graph.node(), reads) || llvm::any_of(graph.output(), named))
      return;
    removeIf(*graph.mutable_node(), makes);
    // A graph input that is not an initializer is supplied by the caller. Up to IR version 3,
    // initializers are also inputs.
    if (removeIf(*graph.mutable_initializer(), named))
      removeIf(*graph.mutable_input(), named);
  }

  template <typename List, typename Condition>
  static bool removeIf(List &list, Condition condition) {
    int before = list.size();
    for (int i = before - 1; i >= 0; --i)
      if (condition(list.Get(i)))
        list.DeleteSubrange(i, 1);
    return list.size() < before;
  }

  onnx::GraphProto &graph;
  llvm::StringSet<> read;
  std::vector<std::string> dropped;
  bool changed = false;
};

} // namespace

bool gradc::makeEvaluationForm(onnx::GraphProto &graph) { return Rewriter(graph).run(); }

std::string gradc::evaluationForm(std::string model, const onnx::GraphProto &graph) {
  auto hasTwoForms = [](const onnx::NodeProto &node) {
    return node.op_type() == "BatchNormalization" || node.op_type() == "Dropout";
  };
  onnx::ModelProto proto;
  if (llvm::none_of(graph.node(), hasTwoForms) || !proto.ParseFromString(model) ||
      !makeEvaluationForm(*proto.mutable_graph()))
    return model;
  model.clear();
  return proto.SerializeAsString();
}
