// Building blocks shared by the imports of all attention ops.
#ifndef COMPILER_IMPORT_ATTENTIONPARTS_H
#define COMPILER_IMPORT_ATTENTIONPARTS_H

#include "compiler/import/onnx/Node.h"

namespace gradc {

/// Operands as [batch, heads, positions, size]; keys and values with the past ones before them.
struct Heads {
  mlir::grad::Expr query, key, value;
  int64_t past;

  /// Query heads that share a key head.
  int64_t group() const { return query.shape()[1] / key.shape()[1]; }
  llvm::SmallVector<int64_t> scoresShape() const {
    return {query.shape()[0], query.shape()[1], query.shape()[2], key.shape()[2]};
  }
};
mlir::LogicalResult expectHeadShapes(Node &node, const Heads &heads);

/// A product of each head. Query rows of heads that share keys lie one after the other, so one
/// product serves them all.
mlir::grad::Expr multiply(Node &node, const Heads &heads, mlir::grad::Expr lhs,
                          mlir::grad::Expr rhs, bool transposeRhs);

/// The softmax over keys, 0 for a query that sees none.
mlir::grad::Expr softmaxOverKeys(Node &node, mlir::grad::Expr scores, bool mayBeEmpty);

/// The element type that attribute softmax_precision asks for.
mlir::FailureOr<mlir::Type> softmaxType(Node &node, mlir::Type otherwise);

} // namespace gradc

#endif
