// The producer and the readers of each value of a graph.
#ifndef COMPILER_IMPORT_TRANSFER_GRAPHUSES_H
#define COMPILER_IMPORT_TRANSFER_GRAPHUSES_H

#include "compiler/import/onnx/model/Attributes.h"
#include "compiler/import/onnx/model/OnnxModel.h"

namespace gradc {

/// A node that reads a value. `operand` is negative if a subgraph of the node reads it.
struct ValueUse {
  const onnx::NodeProto *node;
  int operand;
};

/// A view of a graph, which must not change while the view exists. Nodes without outputs count as
/// no uses: they compute nothing.
class GraphUses {
public:
  explicit GraphUses(const onnx::GraphProto &graph);

  llvm::ArrayRef<ValueUse> of(llvm::StringRef value) const;
  /// The node that computes a value, or null.
  const onnx::NodeProto *producer(llvm::StringRef value) const { return producers.lookup(value); }
  /// The initializer of that name, or null.
  const onnx::TensorProto *initializer(llvm::StringRef name) const {
    return initializers.lookup(name);
  }
  /// The tensor of an initializer or a Constant node; null if it is none, or given in another form.
  const onnx::TensorProto *constant(llvm::StringRef value) const;
  /// The 64-bit integers of an initializer or a Constant node; nullopt if they are not known.
  std::optional<llvm::SmallVector<int64_t>> integers(llvm::StringRef value) const;
  bool isOutput(llvm::StringRef value) const { return outputs.contains(value); }

private:
  llvm::StringMap<llvm::SmallVector<ValueUse, 2>> uses;
  llvm::StringMap<const onnx::NodeProto *> producers;
  llvm::StringMap<const onnx::TensorProto *> initializers;
  llvm::StringMap<bool> outputs;
};

/// Whether the node only transposes a matrix.
bool isMatrixTranspose(const onnx::NodeProto &node);

} // namespace gradc

#endif
