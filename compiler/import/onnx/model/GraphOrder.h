// The nodes that a graph's outputs depend on, in an order that can be imported.
#ifndef COMPILER_IMPORT_ONNX_MODEL_GRAPHORDER_H
#define COMPILER_IMPORT_ONNX_MODEL_GRAPHORDER_H

#include "compiler/import/onnx/model/OnnxModel.h"
#include "llvm/ADT/StringSet.h"

namespace gradc {

/// The maximum nesting depth of graphs.
constexpr unsigned maxGraphDepth = 64;

/// The names that a node reads: its operands, and the names that its subgraphs read from outside.
std::vector<std::string> namesRead(const onnx::NodeProto &node);
/// Whether the node reads `name`.
bool readsName(const onnx::NodeProto &node, llvm::StringRef name);

/// The positions of the nodes that `outputs` depend on; `inputs` receives the graph inputs that
/// they read. Reports cycles, and undefined names that enclosing graphs do not define either.
mlir::FailureOr<llvm::SmallVector<unsigned>>
orderNodes(const OnnxModel &model, const onnx::GraphProto &graph,
           llvm::ArrayRef<std::string> outputs, llvm::StringSet<> &inputs,
           llvm::function_ref<bool(llvm::StringRef)> isAround);

} // namespace gradc

#endif
