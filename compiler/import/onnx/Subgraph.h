// Graphs that are attributes of nodes.
#ifndef COMPILER_IMPORT_ONNX_SUBGRAPH_H
#define COMPILER_IMPORT_ONNX_SUBGRAPH_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// The value of a name: a tensor, a sequence of tensors, or an optional without an element.
struct GraphValue {
  mlir::Value tensor;
  std::optional<llvm::SmallVector<mlir::Value>> sequence;
  const NarrowType *narrow = nullptr; ///< whose codes the tensor holds

  /// Whether both are tensors of one type.
  bool hasTypeOf(const GraphValue &other) const;
  /// For example "f32 [4]", with the type that the model gives the value.
  std::string describe() const;
};

/// The node's subgraph in that attribute; reports an error if there is none.
mlir::FailureOr<const onnx::GraphProto *> findGraph(Node &node, llvm::StringRef name);

mlir::LogicalResult expectCounts(Node &node, const onnx::GraphProto &graph, int inputs,
                                 int outputs);

/// Checks that the node has a result per value that a loop carries, before those that it stacks.
mlir::LogicalResult expectCarriedResults(Node &node, unsigned carried);

/// Random numbers depend on node and step; in a loop, they would have to depend on the iteration as
/// well.
mlir::LogicalResult expectNothingRandom(Node &node, const onnx::GraphProto &graph);

/// Makes the run check the indices in a loop's region, which the loop has collected in `stacks`.
void handOnIndexChecks(Node &node, llvm::ArrayRef<mlir::Value> inRegion, mlir::ValueRange stacks);

/// Sets the node's results.
mlir::LogicalResult setGraphValues(Node &node, llvm::ArrayRef<GraphValue> values);

} // namespace gradc

#endif
