// The nodes that a graph's outputs need, in an order in which they can be imported.
#ifndef COMPILER_IMPORT_GRAPHORDER_H
#define COMPILER_IMPORT_GRAPHORDER_H

#include "compiler/import/onnx/OnnxModel.h"
#include "llvm/ADT/StringSet.h"

namespace gradc {

/// The deepest nest of graphs in each other.
constexpr unsigned maxGraphDepth = 64;

/// The names that a node reads: its operands, and what its graphs read of the graphs around them.
std::vector<std::string> namesRead(const onnx::NodeProto &node);
/// Whether `name` is one of them.
bool readsName(const onnx::NodeProto &node, llvm::StringRef name);

/// Positions of the nodes that `outputs` need; `inputs` gets the graph inputs that these read.
/// Undefined names, but those that are defined around the graph, and cycles are reported.
mlir::FailureOr<llvm::SmallVector<unsigned>>
orderNodes(const OnnxModel &model, const onnx::GraphProto &graph,
           llvm::ArrayRef<std::string> outputs, llvm::StringSet<> &inputs,
           llvm::function_ref<bool(llvm::StringRef)> isAround);

} // namespace gradc

#endif
