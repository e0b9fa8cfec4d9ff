// Adds nodes, attributes and tensors to ONNX graphs.
#ifndef COMPILER_IMPORT_ONNX_MODEL_GRAPHBUILDER_H
#define COMPILER_IMPORT_ONNX_MODEL_GRAPHBUILDER_H

#include "compiler/import/onnx/model/Attributes.h"
#include "compiler/import/onnx/model/onnx.pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace gradc {

/// The elements of a tensor of `T` as the file has them.
template <typename T, typename From> std::string rawData(llvm::ArrayRef<From> values) {
  std::vector<T> converted(values.begin(), values.end());
  return {reinterpret_cast<const char *>(converted.data()), converted.size() * sizeof(T)};
}

/// A tensor without a name; `bytes` are its elements in their order.
onnx::TensorProto tensorOf(int32_t type, llvm::ArrayRef<int64_t> shape, std::string bytes);
/// A vector of INT64.
onnx::TensorProto integersOf(llvm::ArrayRef<int64_t> values);
/// A scalar of FLOAT.
onnx::TensorProto scalarOf(float value);

/// A node under construction: `NodeBuilder(node).in("gradc").set("axis", 1)`.
class NodeBuilder {
public:
  explicit NodeBuilder(onnx::NodeProto &node) : node(node) {}

  NodeBuilder &in(llvm::StringRef domain);

  /// Add an attribute of the value's type.
  NodeBuilder &set(llvm::StringRef name, int64_t value);
  NodeBuilder &set(llvm::StringRef name, int32_t value) { return set(name, int64_t(value)); }
  NodeBuilder &set(llvm::StringRef name, double value);
  NodeBuilder &set(llvm::StringRef name, llvm::StringRef text);
  NodeBuilder &set(llvm::StringRef name, onnx::TensorProto value);
  NodeBuilder &set(llvm::StringRef name, llvm::ArrayRef<float> values);
  NodeBuilder &set(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  NodeBuilder &set(llvm::StringRef name, const std::vector<std::string> &texts);

  /// The name of the first result.
  const std::string &result() const { return node.output(0); }

private:
  onnx::AttributeProto &attribute(llvm::StringRef name, AttributeType type);

  onnx::NodeProto &node;
};

/// Adds to a graph. Callers choose the names of values.
class GraphBuilder {
public:
  /// A new node is named after its first result, behind `nodePrefix`.
  explicit GraphBuilder(onnx::GraphProto &graph, llvm::StringRef nodePrefix = "")
      : graph(graph), nodePrefix(nodePrefix.str()) {}

  NodeBuilder add(llvm::StringRef op, llvm::ArrayRef<std::string> inputs,
                  llvm::ArrayRef<std::string> outputs);
  void addInitializer(const std::string &name, onnx::TensorProto value);
  /// Adds a node, which no pattern can train and no list of initializers shows.
  void addConstant(const std::string &name, onnx::TensorProto value);
  /// Moves the nodes from position `first` on in front of the others.
  void moveToFront(int first);
  /// Moves the nodes from position `first` on behind the node at an earlier `position`.
  void moveBehind(int position, int first);

private:
  onnx::GraphProto &graph;
  std::string nodePrefix;
};

/// The names of the graph's inputs, its initializers and the results of its nodes.
llvm::StringSet<> definedNames(const onnx::GraphProto &graph);

/// `name`, or NAME_1, NAME_2, ... if it is taken; then the result is taken, too.
std::string uniqueName(const std::string &name, llvm::StringSet<> &taken);

} // namespace gradc

#endif
