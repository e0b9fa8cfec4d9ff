// Orders nodes, independent of their order in the file.
#include "dialects/Pch.h"

#include "compiler/import/onnx/model/GraphOrder.h"

#include "compiler/import/onnx/model/GraphBuilder.h"

using namespace mlir;
using namespace gradc;

/// Adds the names that a graph reads but does not define.
static void addFree(const onnx::GraphProto &graph, std::vector<std::string> &names) {
  llvm::StringSet<> defined = definedNames(graph);
  auto add = [&](const std::string &name) {
    if (!defined.contains(name))
      names.push_back(name);
  };
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &name : namesRead(node))
      add(name);
  for (const onnx::ValueInfoProto &output : graph.output())
    add(output.name());
}

std::vector<std::string> gradc::namesRead(const onnx::NodeProto &node) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  bool isGradient = node.op_type() == "Gradient" && node.domain() == "ai.onnx.preview.training";
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (isGradient && attribute.name() == "y")
      names.push_back(attribute.s());
    if (attribute.has_g())
      addFree(attribute.g(), names);
    for (const onnx::GraphProto &graph : attribute.graphs())
      addFree(graph, names);
  }
  return names;
}

/// Most nodes have neither subgraphs nor names in attributes, so no list is needed.
bool gradc::readsName(const onnx::NodeProto &node, StringRef name) {
  bool readsMore = llvm::any_of(node.attribute(), [](const onnx::AttributeProto &attribute) {
    return attribute.has_g() || attribute.graphs_size() > 0 || attribute.strings_size() > 0;
  });
  return readsMore ? llvm::is_contained(namesRead(node), name)
                   : llvm::is_contained(node.input(), name);
}

/// ONNX requires files to be sorted; such a file keeps its order. Returns `order` sorted, if all
/// nodes then follow the nodes that they read.
static SmallVector<unsigned> keepOrder(const onnx::GraphProto &graph, ArrayRef<unsigned> order,
                                       const llvm::StringMap<unsigned> &producer,
                                       ArrayRef<std::vector<std::string>> read) {
  SmallVector<unsigned> sorted(order);
  llvm::sort(sorted);
  llvm::StringSet<> computed;
  for (unsigned i : sorted) {
    for (const std::string &name : read[i])
      if (producer.contains(name) && !computed.contains(name))
        return SmallVector<unsigned>(order);
    for (const std::string &name : graph.node(int(i)).output())
      computed.insert(name);
  }
  return sorted;
}

/// Searches depth first from the outputs: finds the required nodes and graph inputs, undefined
/// names, and cycles.
FailureOr<SmallVector<unsigned>> gradc::orderNodes(const OnnxModel &model,
                                                   const onnx::GraphProto &graph,
                                                   ArrayRef<std::string> outputs,
                                                   llvm::StringSet<> &inputs,
                                                   llvm::function_ref<bool(StringRef)> isAround) {
  llvm::StringSet<> graphInputs;
  for (const onnx::ValueInfoProto &input : graph.input())
    graphInputs.insert(input.name());
  llvm::StringMap<unsigned> producer;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const std::string &name : graph.node(i).output())
      if (!name.empty())
        producer[name] = i;

  enum State : char { unseen, open, done };
  std::vector<State> state(graph.node_size(), unseen);
  std::vector<std::vector<std::string>> read(graph.node_size());
  SmallVector<std::pair<unsigned, int>> path; // node, next operand to visit
  SmallVector<unsigned> order;
  bool ok = true;
  auto visit = [&](const std::string &name, const onnx::NodeProto *user) {
    auto found = producer.find(name);
    if (found == producer.end()) {
      if (name.empty() || model.initializer(name))
        return;
      if (graphInputs.contains(name)) {
        inputs.insert(name);
        return;
      }
      if (isAround(name))
        return;
      emitError(user ? model.nodeLoc(*user) : model.nameLoc(name))
          << (user ? "input" : "output") << " \"" << name << "\" "
          << (user ? "of " + user->op_type() : "")
          << " is neither a graph input, nor an initializer, nor computed by a node";
      ok = false;
      return;
    }
    if (state[found->second] == unseen) {
      state[found->second] = open;
      path.push_back({found->second, 0});
    } else if (state[found->second] == open) {
      auto error = emitError(model.nodeLoc(graph.node(found->second))) << "the graph has a cycle: ";
      auto start = llvm::find_if(path, [&](auto &step) { return step.first == found->second; });
      for (auto &step : llvm::make_range(start, path.end()))
        error << "\"" << graph.node(step.first).output(0) << "\" needs ";
      error << "\"" << name << "\"";
      ok = false;
    }
  };
  for (const std::string &output : outputs) {
    visit(output, nullptr);
    while (!path.empty()) {
      auto &[node, next] = path.back();
      if (next == 0)
        read[node] = namesRead(graph.node(int(node)));
      if (next < int(read[node].size())) {
        std::string name = read[node][next++];
        visit(name, &graph.node(int(node)));
        continue;
      }
      state[node] = done;
      order.push_back(node);
      path.pop_back();
    }
  }
  if (!ok)
    return failure();
  return keepOrder(graph, order, producer, read);
}
