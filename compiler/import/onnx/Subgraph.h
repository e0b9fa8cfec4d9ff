// Graphs that nodes have as attributes.
#ifndef COMPILER_IMPORT_SUBGRAPH_H
#define COMPILER_IMPORT_SUBGRAPH_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// The value of a name: a tensor, a sequence of tensors, or an optional without an element.
struct GraphValue {
  mlir::Value tensor;
  std::optional<llvm::SmallVector<mlir::Value>> sequence;
};

/// The node's graph of that name; an error if it has none.
mlir::FailureOr<const onnx::GraphProto *> findGraph(Node &node, llvm::StringRef name);

mlir::LogicalResult expectCounts(Node &node, const onnx::GraphProto &graph, int inputs,
                                 int outputs);

/// A result for each value that a loop carries, before those that it stacks.
mlir::LogicalResult expectCarriedResults(Node &node, unsigned carried);

/// Random numbers depend on node and step; in a loop, on the iteration as well.
mlir::LogicalResult expectNothingRandom(Node &node, const onnx::GraphProto &graph);

/// Makes the run check what a loop has stacked in `stacks` of the indices in its region.
void handOnIndexChecks(Node &node, llvm::ArrayRef<mlir::Value> inRegion, mlir::ValueRange stacks);

/// Sets the node's results.
mlir::LogicalResult setGraphValues(Node &node, llvm::ArrayRef<GraphValue> values);

} // namespace gradc

#endif
