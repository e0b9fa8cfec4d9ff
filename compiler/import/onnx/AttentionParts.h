// Building blocks shared by the importers of all attention ops.
#ifndef COMPILER_IMPORT_ONNX_ATTENTIONPARTS_H
#define COMPILER_IMPORT_ONNX_ATTENTIONPARTS_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// Operands as [batch, heads, positions, size]; past keys and values precede the current ones.
struct Heads {
  mlir::grad::Expr query, key, value;
  int64_t past;

  /// The number of query heads that share a key head.
  int64_t group() const { return query.shape()[1] / key.shape()[1]; }
  llvm::SmallVector<int64_t> scoresShape() const {
    return {query.shape()[0], query.shape()[1], query.shape()[2], key.shape()[2]};
  }
};
mlir::LogicalResult expectHeadShapes(Node &node, const Heads &heads);

/// One product per head. The query rows of heads that share keys are adjacent, so a single product
/// serves them all.
mlir::grad::Expr multiply(Node &node, const Heads &heads, mlir::grad::Expr lhs,
                          mlir::grad::Expr rhs, bool transposeRhs);

/// The softmax over keys; 0 for a query that sees no key.
mlir::grad::Expr softmaxOverKeys(Node &node, mlir::grad::Expr scores, bool mayBeEmpty);

/// The element type that attribute softmax_precision asks for.
mlir::FailureOr<mlir::Type> softmaxType(Node &node, mlir::Type otherwise);

} // namespace gradc

#endif
